package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.Member;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out once a minute, before it is needed, whether a server would be promoted if the source
 * were lost. Used by the agent's thread; the result is read by others.
 */
final class Rehearsal {

  private static final Logger log = LoggerFactory.getLogger(Rehearsal.class);

  private static final long INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long replicas may take to catch up with a new source. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(15);

  /** The beginning of what {@code /actuator/leader} shows of a server. */
  private static final String SHOWN = "server=%s ";

  private final AgentProperties properties;
  private final Candidacy candidacy;
  private final ElectionOperations election;
  private final LongSupplier clock;
  private volatile String problem = "";
  private long source;
  private long next;

  Rehearsal(
      AgentProperties properties,
      Standing standing,
      ElectionOperations election,
      LongSupplier clock) {
    this.properties = properties;
    this.candidacy = standing.candidacy();
    this.election = election;
    this.clock = clock;
  }

  /** Returns why no server would be promoted; empty if one would be, or if it is not known yet. */
  String problem() {
    return this.problem;
  }

  /** Looks again if it is time. There is a source. */
  void look(Snapshot read) {
    long now = this.clock.getAsLong();
    if (read.electionTerm() != this.source) {
      this.source = read.electionTerm();
      this.next = now + SETTLE_NANOS;
    }
    Optional<List<Member>> members = this.election.members();
    if (now - this.next < 0 || members.isEmpty()) {
      return;
    }
    this.next = now + INTERVAL_NANOS;
    String found = this.candidacy.wouldFail(read, managed(members.get()));
    if (!found.isEmpty() && !found.equals(this.problem)) {
      log.warn("No server would be promoted if the source were lost now: {}", found);
    }
    this.problem = found;
  }

  private Set<String> managed(List<Member> members) {
    return this.properties.servers().keySet().stream()
        .filter((server) -> members.stream().anyMatch((each) -> manages(each, server)))
        .collect(Collectors.toSet());
  }

  /** Returns what the agent of a server publishes for display. */
  static String show(String server, Status status) {
    return SHOWN.formatted(server)
        + "role=%s lag=%ss reason=%s"
            .formatted(status.role(), status.lagSeconds(), status.reason());
  }

  /** Returns whether the agent of a server has announced itself as this member. */
  static boolean manages(Member member, String server) {
    return member.position().startsWith(SHOWN.formatted(server));
  }
}
