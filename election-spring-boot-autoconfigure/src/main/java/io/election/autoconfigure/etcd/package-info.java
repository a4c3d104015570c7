/** Auto-configuration of elections in etcd. */
@NullMarked
package io.election.autoconfigure.etcd;

import org.jspecify.annotations.NullMarked;
