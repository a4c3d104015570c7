package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Candidacy.Decision;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What an agent knows: one immutable value behind one reference. The agent's thread replaces it; the
 * elector's thread replaces {@link Ballot#asked} alone. Instants are readings of the monotonic
 * clock.
 *
 * @param told the position that it has published; {@code null} if it has published none
 */
record AgentState(
    Shown shown,
    Seen seen,
    Ballot ballot,
    Link link,
    @Nullable Told told,
    Duty duty,
    Rehearsal rehearsal) {

  /** The reference. Thread-safe. */
  static final class Reference {

    /** A random number of this agent. */
    final String agent = UUID.randomUUID().toString();

    private volatile AgentState state;

    Reference(long now) {
      this.state = initial(now);
    }

    AgentState get() {
      return this.state;
    }

    synchronized AgentState change(UnaryOperator<AgentState> step) {
      this.state = step.apply(this.state);
      return this.state;
    }
  }

  private static AgentState initial(long now) {
    return new AgentState(
        new Shown(new Status(Role.UNKNOWN, "the agent has not looked at it yet", 0), now),
        new Seen(null, now, 0),
        new Ballot(null, now - TimeUnit.HOURS.toNanos(1), null),
        new Link(null, now, false, "", null),
        null,
        new Duty("", null, now),
        new Rehearsal("", 0, now));
  }

  Status status() {
    return this.shown.status();
  }

  AgentState with(Shown shown) {
    return new AgentState(
        shown, this.seen, this.ballot, this.link, this.told, this.duty, this.rehearsal);
  }

  AgentState with(Seen seen) {
    return new AgentState(
        this.shown, seen, this.ballot, this.link, this.told, this.duty, this.rehearsal);
  }

  AgentState with(Ballot ballot) {
    return new AgentState(
        this.shown, this.seen, ballot, this.link, this.told, this.duty, this.rehearsal);
  }

  AgentState with(Link link) {
    return new AgentState(
        this.shown, this.seen, this.ballot, link, this.told, this.duty, this.rehearsal);
  }

  AgentState with(@Nullable Told told) {
    return new AgentState(
        this.shown, this.seen, this.ballot, this.link, told, this.duty, this.rehearsal);
  }

  AgentState with(Duty duty) {
    return new AgentState(
        this.shown, this.seen, this.ballot, this.link, this.told, duty, this.rehearsal);
  }

  AgentState with(Rehearsal rehearsal) {
    return new AgentState(
        this.shown, this.seen, this.ballot, this.link, this.told, this.duty, rehearsal);
  }

  /** A status, and when it was last found to hold. */
  record Shown(Status status, long at) {

    /** The roles in which clients use the server, which is looked at once a second. */
    private static final Set<Role> SERVING = Set.of(Role.SOURCE, Role.REPLICA);

    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(3);

    /** Returns the status, which is unknown for a server that should have answered long ago. */
    Status statusAt(long now) {
      long silence = now - this.at;
      return silence > SILENCE_NANOS && SERVING.contains(this.status.role())
          ? new Status(
              Role.UNKNOWN,
              "it was %s, but has not answered for %s s"
                  .formatted(this.status.role(), TimeUnit.NANOSECONDS.toSeconds(silence)),
              this.status.lagSeconds())
          : this.status;
    }
  }

  /**
   * What was seen of the election.
   *
   * @param promotedAt when another promotion was seen last
   * @param openTerm the election term of the last promotion when the election last was not open
   */
  record Seen(@Nullable Snapshot read, long promotedAt, long openTerm) {

    Seen see(Snapshot read, long now) {
      boolean promoted = this.read != null && this.read.electionTerm() != read.electionTerm();
      return new Seen(read, promoted ? now : this.promotedAt, this.openTerm);
    }

    Seen notOpen() {
      return new Seen(this.read, this.promotedAt, this.read != null ? this.read.electionTerm() : 0);
    }

    /** Returns why the set is paused; empty if it is not. */
    String paused() {
      return this.read != null ? this.read.paused() : "";
    }
  }

  /**
   * What the elector is told, and when it asked.
   *
   * @param stand what to decide by; {@code null} if the server's position is not final or not known
   * @param askedAt when the election was last open to this node
   */
  record Ballot(
      @Nullable Stand stand, long askedAt, @Nullable Decision decision) {

    Ballot with(@Nullable Stand stand) {
      return new Ballot(stand, this.askedAt, this.decision);
    }

    Ballot asked(long now, @Nullable Decision decision) {
      return new Ballot(this.stand, now, decision);
    }
  }

  /** What a decision rests on: all other agents can read the position, which is final. */
  record Stand(Snapshot read, Position own) {}

  /** A position, and when it was published. */
  record Told(Position position, long at) {}

  /**
   * A server as a source.
   *
   * @param failure why the last attempt to become or stay the source failed; empty if it did not
   * @param server the source as last seen; {@code null} if it is none, or before that
   * @param acknowledgedAt when enough replicas last acknowledged
   */
  record Duty(String failure, @Nullable ServerState server, long acknowledgedAt) {

    Duty with(String failure) {
      return new Duty(failure, this.server, this.acknowledgedAt);
    }

    Duty end() {
      return new Duty(this.failure, null, this.acknowledgedAt);
    }

    /** Returns the users of clients of the source that no setting keeps out; empty if none do. */
    String administrators() {
      return this.server != null ? this.server.administrators() : "";
    }

    int acknowledging() {
      return this.server != null ? this.server.acknowledging() : 0;
    }
  }
}
