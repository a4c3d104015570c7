/** Leases in etcd. */
@NullMarked
package io.election.etcd;

import org.jspecify.annotations.NullMarked;
