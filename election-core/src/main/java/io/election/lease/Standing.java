package io.election.lease;

import io.election.LeadershipEvent;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A node's standing in an election at one instant.
 *
 * @param leads whether it leads
 * @param holdsLease whether its lease keeps other nodes out: it leads, or still protects leader work
 * @param term the term in which it leads; 0 if it does not
 * @param highestTerm the highest term of the election that it has seen; 0 if none
 * @param untilOpen how long it must wait until it may try for the lease, as far as it knows: for
 *     instance the rest of the lease of a leader that is silent. Negative if it could try since
 *     then; {@code null} if it must read the record first, may not stand, or holds the lease
 * @param lastEvent the last change of its leadership; {@code null} if there was none
 */
public record Standing(
    boolean leads,
    boolean holdsLease,
    long term,
    long highestTerm,
    @Nullable Duration untilOpen,
    @Nullable LeadershipEvent lastEvent) {}
