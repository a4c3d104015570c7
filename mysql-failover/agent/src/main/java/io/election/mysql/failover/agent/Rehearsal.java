package io.election.mysql.failover.agent;

import io.election.Member;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out once a minute, before it is needed, whether a server would be promoted if the source
 * were lost.
 *
 * @param problem why no server would be promoted; empty if one would be, or if it is not known yet
 * @param source the election term of the source
 */
record Rehearsal(String problem, long source, long next) {

  private static final Logger log = LoggerFactory.getLogger(Rehearsal.class);

  private static final long INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** How long replicas may take to catch up with a new source. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(15);

  /** Looks again if it is time. There is a source. */
  Rehearsal look(Snapshot read, List<Member> members, Candidacy candidacy, long now) {
    if (read.electionTerm() != this.source) {
      return new Rehearsal(this.problem, read.electionTerm(), now + SETTLE_NANOS);
    }
    if (now - this.next < 0 || members.isEmpty()) {
      return this;
    }
    String found = candidacy.wouldFail(
        read,
        candidacy.servers().stream()
            .filter(
                (server) -> members.stream().anyMatch((member) -> Status.isShown(member, server)))
            .collect(Collectors.toSet()));
    if (!found.isEmpty() && !found.equals(this.problem)) {
      log.warn("No server would be promoted if the source were lost now: {}", found);
    }
    return new Rehearsal(found, this.source, now + INTERVAL_NANOS);
  }
}
