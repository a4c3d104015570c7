/**
 * Auto-configuration of elections by a list: {@code as.election.algorithm} names several parts, all
 * of which a leader must hold.
 */
@NullMarked
package io.election.autoconfigure.joint;

import org.jspecify.annotations.NullMarked;
