/** Auto-configuration of the leader endpoint and of election health, info and metrics. */
@NullMarked
package io.election.autoconfigure.actuate;

import org.jspecify.annotations.NullMarked;
