package io.election;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A term of an election, as its history tells it: for people, never for decisions.
 *
 * @param term the term
 * @param leaderId the node that led, or was to lead
 * @param from when the term began, by the store's clock
 * @param until when it ended for everybody, by the store's clock; {@code null} if it has not, or nobody
 *     has noted it yet
 * @param reason why the term could begin, for instance a {@link LeadershipAcquiredEvent.Reason}; {@code
 *     null} if unknown
 * @param endReason why it ended, for instance a {@link LeadershipLostEvent.Reason}; {@code null} if
 *     unknown
 * @param endedBy who ended it; {@code null} if nobody said so
 * @param note why, in that one's words; {@code null} if nobody said so
 */
public record HistoryEntry(
    long term,
    String leaderId,
    Instant from,
    @Nullable Instant until,
    @Nullable String reason,
    @Nullable String endReason,
    @Nullable String endedBy,
    @Nullable String note) {}
