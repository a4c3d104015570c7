package io.election;

import java.time.Duration;
import java.time.Instant;

/**
 * A node that stands for an election, as it announced itself. For display, never for decisions.
 *
 * <p>Two processes with the same node id are one member, whose values may come from either process.
 *
 * @param nodeId the node id
 * @param since when the node began to stand, by the clock of the store
 * @param lastSeen when the node last announced itself, by the clock of the store
 * @param eligible whether the node may lead at all
 * @param paused whether the node was paused in this election when it last announced itself
 * @param version the version of this library that the node runs; empty if unknown
 * @param algorithm where the node elects: the stores whose leases its leader must hold, for instance
 *     {@code zookeeper, mysql}; empty if unknown
 * @param position what the node has published about itself in this election, to let others decide who
 *     goes first; empty if it has published nothing
 * @param lease for how long no other node leads when it dies as leader; zero if unknown
 * @param label what its configuration calls it, the same for all nodes of one environment; empty if
 *     nothing
 */
public record Member(
    String nodeId,
    Instant since,
    Instant lastSeen,
    boolean eligible,
    boolean paused,
    String version,
    String algorithm,
    String position,
    Duration lease,
    String label) {}
