package io.election.mysql.failover.agent;

import io.election.Member;
import org.jspecify.annotations.Nullable;

/**
 * The status of a server, as its agent publishes it.
 *
 * @param donor the source from which the server, which may not join it, can be rebuilt; {@code null}
 *     if there is none
 */
record Status(
    Role role, String reason, long lagSeconds, @Nullable Promotion donor) {

  /** The beginning of what {@code /actuator/leader} shows of a server. */
  private static final String SHOWN = "server=%s ";

  enum Role {
    /** The agent has not checked the server yet, or cannot reach it. */
    UNKNOWN,
    /** The server applies the received transactions and is about to become the source. */
    PROMOTING,
    /** The server accepts writes. */
    SOURCE,
    /** The server replicates from the source. */
    REPLICA,
    /** The server waits for a source, or is a source that waits for acknowledging replicas. */
    WAITING,
    /** The server may not join the source. */
    REFUSED
  }

  Status(Role role, String reason, long lagSeconds) {
    this(role, reason, lagSeconds, null);
  }

  /** Returns whether the server may not join the source, or does not answer. */
  boolean isOut() {
    return this.role == Role.REFUSED || this.role == Role.UNKNOWN;
  }

  /** Returns what the agent of a server publishes for display. */
  String show(String server) {
    return SHOWN.formatted(server)
        + "role=%s lag=%ss reason=%s".formatted(this.role, this.lagSeconds, this.reason);
  }

  /** Returns whether the agent of a server has announced itself as this member. */
  static boolean isShown(Member member, String server) {
    return member.position().startsWith(SHOWN.formatted(server));
  }
}
