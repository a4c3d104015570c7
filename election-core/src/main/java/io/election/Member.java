package io.election;

import java.time.Instant;

/**
 * A node that stands for an election, as it announced itself: for people, never for decisions.
 *
 * <p>Two processes with one node id are one member, whose fields are those of either.
 *
 * @param nodeId the node
 * @param since when it began to stand, by the store's clock
 * @param lastSeen when it announced itself last, by the store's clock
 * @param eligible whether it may lead at all
 * @param paused whether it was paused in this election when it announced itself last
 * @param version the version of this library that it runs; empty if unknown
 */
public record Member(
    String nodeId,
    Instant since,
    Instant lastSeen,
    boolean eligible,
    boolean paused,
    String version) {}
