package io.election;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A term of an election, as recorded in the history. For display, never for decisions.
 *
 * @param term the term
 * @param leaderId the node that led, or was about to lead
 * @param from the start of the term, by the clock of the store
 * @param until the end of the term for all nodes, by the clock of the store; {@code null} if it has
 *     not ended, or its end has not been recorded yet
 * @param reason why the term could begin, for instance a {@link LeadershipAcquiredEvent.Reason};
 *     {@code null} if unknown
 * @param endReason why the term ended, for instance a {@link LeadershipLostEvent.Reason};
 *     {@code null} if unknown
 * @param endedBy the actor who ended the term; {@code null} if none was given
 * @param note the reason given by that actor; {@code null} if none was given
 */
public record PastTerm(
    long term,
    String leaderId,
    Instant from,
    @Nullable Instant until,
    @Nullable String reason,
    @Nullable String endReason,
    @Nullable String endedBy,
    @Nullable String note) {}
