/**
 * Auto-configuration of the commit fence: transactions under {@link io.election.LeaderOnly} commit
 * only in the term in which they began.
 */
@NullMarked
package io.election.autoconfigure.commitfence;

import org.jspecify.annotations.NullMarked;
