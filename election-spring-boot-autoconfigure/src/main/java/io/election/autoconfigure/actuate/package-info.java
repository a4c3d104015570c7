/** Auto-configuration of the leader endpoint, and of the health, information and metrics of elections. */
@NullMarked
package io.election.autoconfigure.actuate;

import org.jspecify.annotations.NullMarked;
