/**
 * Auto-configuration of {@link io.election.LeaderOnly}: the advisor, the gate that calls pass, and
 * the check for beans that cannot be guarded.
 */
@NullMarked
package io.election.autoconfigure.leaderonly;

import org.jspecify.annotations.NullMarked;
