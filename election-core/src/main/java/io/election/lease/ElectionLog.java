package io.election.lease;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.Names;
import io.election.lease.State.Follower;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The log lines of an elector for operators. */
final class ElectionLog {

  private static final Logger log = LoggerFactory.getLogger("io.election.lease.Elector");

  private static final int MAX_NAMED = 5;

  private final String store;

  private final FailureLog failures = new FailureLog(log);

  private final FailureLog partialRenewals = new FailureLog(log);

  private final FailureLog twins = new FailureLog(log);

  private final FailureLog histories = new FailureLog(log);

  private final FailureLog unknownWork = new FailureLog(log);

  private final FailureLog answers = new FailureLog(log);

  /** Used by the elector's thread. */
  private boolean withoutMembers;

  /** Whether members differed from this node when they were read last. */
  private boolean differing;

  ElectionLog(String store) {
    this.store = store;
  }

  void joined(String serviceId, Node node) {
    log.info(
        "node {} {} election '{}' by {} (lease {}, renewed every {})",
        node.id(),
        node.settings().eligible() ? "stands for" : "is not eligible and watches",
        serviceId,
        this.store,
        node.settings().leaseDuration(),
        node.settings().renewInterval());
  }

  /** Logs what an answer means for operators, before it is applied. */
  <R> void answered(Step.Caller caller, Step.Call<R> step, R answer) {
    String serviceId = caller.serviceId();
    String nodeId = caller.nodeId();
    boolean done = step.isDone(answer);
    if (step instanceof Step.Acquire) {
      attempted(serviceId, nodeId, done);
    } else if (step instanceof Step.Release release && done) {
      released(serviceId, nodeId, release);
    } else if (step instanceof Step.Create
        && ((Optional<?>) answer).orElse(null) instanceof LeaseRow row) {
      created(serviceId, nodeId, row.promisedMillis(caller.leaseMillis()));
    }
  }

  private void created(String serviceId, String nodeId, long leaseMillis) {
    log.info(
        "election '{}' had no record: node {} created it and will lead in {} ms unless another node claims it, because a deleted record may have had a leader",
        serviceId,
        nodeId,
        leaseMillis);
  }

  private void attempted(String serviceId, String nodeId, boolean result) {
    log.info(
        "try acquire leader by {} with result: {} (election '{}', node {})",
        this.store,
        result,
        serviceId,
        nodeId);
  }

  void changed(LeadershipEvent event) {
    if (event instanceof LeadershipAcquiredEvent acquired) {
      log.info(
          "become leader by {}: election '{}', node {}, term {} ({})",
          this.store,
          acquired.serviceId(),
          acquired.nodeId(),
          acquired.term(),
          acquired.reason());
    } else if (event instanceof LeadershipLostEvent lost) {
      boolean unwanted = lost.reason() == LeadershipLostEvent.Reason.EXPIRED
          || lost.reason() == LeadershipLostEvent.Reason.DISPLACED;
      log.atLevel(unwanted ? Level.WARN : Level.INFO)
          .log(
              "lost leader by {}: election '{}', node {}, term {} ({})",
              this.store,
              lost.serviceId(),
              lost.nodeId(),
              lost.term(),
              lost.reason());
    }
  }

  /**
   * Logs if another node holds the record, and whether for longer than expected, or if another
   * process writes under the id of this node.
   */
  void observed(String serviceId, Candidacy before, Candidacy after, long now) {
    LeaseRow last = row(before);
    LeaseRow row = row(after);
    if (row == null || row.equals(last)) {
      return;
    }
    String nodeId = after.node().id();
    if (after.state() instanceof Follower follower && follower.shared() && last != null) {
      this.twins.failed(
          "another process uses node id '%s' in election '%s', or writes its record under this name: give each process an as.election.node-id of its own"
              .formatted(nodeId, serviceId),
          "this one only watches",
          null,
          now);
      return;
    }
    if (row.isMoved()) {
      log.error(
          "election '{}' was {}: node {} does not lead by {}. Set as.election.algorithm to where it was moved, or remove the mark from the record (docs/moves.md)",
          serviceId,
          Names.printable(row.leaderId()),
          nodeId,
          this.store);
      return;
    }
    boolean changed =
        last == null || !row.leaderId().equals(last.leaderId()) || row.term() != last.term();
    if (changed && !row.leaderId().equals(nodeId) && after.rowOfLeader().isPresent()) {
      log.info(
          "election '{}' is held by {} in term {}",
          serviceId,
          Names.printable(row.leaderId()),
          row.term());
    }
    warnOfLongerLease(
        serviceId, last, row, after.node().settings().leaseDuration().toMillis());
  }

  /** Logs if nobody would lead for longer than expected after the leader has died. */
  private static void warnOfLongerLease(
      String serviceId, @Nullable LeaseRow last, LeaseRow row, long ownMillis) {
    long promised = row.promisedMillis(ownMillis);
    if (row.namesLeader()
        && promised > ownMillis
        && (last == null || promised != last.promisedMillis(ownMillis))) {
      log.warn(
          "election '{}': the record promises {} a lease of {} ms, longer than the {} ms of this node: if it dies, no node leads for so long. If no node has that as.election.lease-duration, the record was edited: force an election while the leader lives",
          serviceId,
          Names.printable(row.leaderId()),
          promised,
          ownMillis);
    }
  }

  private void released(String serviceId, String nodeId, Step.Release release) {
    log.info(
        "election '{}': node {} handed term {} back{}",
        serviceId,
        nodeId,
        release.term(),
        release.successor().isEmpty() ? "" : " to " + Names.printable(release.successor()));
  }

  void designated(String serviceId, String leaderId, @Nullable AuditNote auditNote) {
    log.info(
        "election '{}': node {} was designated{}",
        serviceId,
        Names.printable(leaderId),
        by(auditNote));
  }

  void forced(String serviceId, @Nullable AuditNote auditNote) {
    log.info("election '{}': a new election was forced{}", serviceId, by(auditNote));
  }

  void paused(String serviceId, String nodeId, AuditNote auditNote) {
    log.info(
        "election '{}': node {} was paused{}; it does not lead until it is resumed or restarted",
        serviceId,
        nodeId,
        by(auditNote));
  }

  void resumed(String serviceId, String nodeId, AuditNote auditNote) {
    log.info(
        "election '{}': node {} was resumed{}; it may lead again",
        serviceId,
        nodeId,
        by(auditNote));
  }

  /** Returns the end of a sentence. */
  private static String by(@Nullable AuditNote auditNote) {
    return auditNote != null ? " by " + auditNote : "";
  }

  void designatedUnknown(String serviceId, String leaderId, Collection<String> known) {
    log.warn(
        "election '{}': designated node '{}' has not led lately; seen were {}. If it does not answer, others lead after one lease",
        serviceId,
        leaderId,
        known.stream().map(Names::printable).toList());
  }

  void storeFailed(Throwable failure, Map<String, Long> remaining, long now) {
    this.failures.failed(LeaseStoreException.text(failure), consequence(remaining), failure, now);
  }

  void renewedInPart(LeaseStoreException failure, Map<String, Long> remaining, long now) {
    this.partialRenewals.failed(
        LeaseStoreException.text(failure), consequence(remaining), failure, now);
  }

  void renewedAll(long now) {
    this.partialRenewals.succeeded("the renewal of all leases", now);
  }

  void historyUnknown(Throwable failure, boolean again, long now) {
    if (again) {
      this.histories.failed(
          LeaseStoreException.text(failure), "the history is not shown", failure, now);
    } else {
      log.debug("the history was not read", failure);
    }
  }

  void notPruned(Throwable failure) {
    log.debug("the history was not pruned", failure);
  }

  /**
   * Reports that no call fails any more.
   *
   * @param worksAgain whether a call that failed has succeeded since; otherwise it is no longer
   *     needed
   */
  void storeAnswered(boolean worksAgain, long now) {
    if (worksAgain) {
      this.failures.succeeded("the " + this.store + " store", now);
    } else {
      this.failures.ended();
    }
  }

  /** Logged once until it works again, because no leadership depends on it. */
  void membersUnknown(Throwable failure) {
    if (this.withoutMembers) {
      log.debug("announcing this node failed again", failure);
      return;
    }
    this.withoutMembers = true;
    log.info(
        "the members are unknown: {} Until that works, no members are shown and designations are not checked",
        LeaseStoreException.text(failure));
    log.debug("announcing this node failed", failure);
  }

  void membersKnown() {
    if (this.withoutMembers) {
      log.info("the members are known again");
      this.withoutMembers = false;
    }
  }

  /** Logged once until they agree again. */
  void membersDiffer(LeaseSettings own, String version, Collection<List<Member>> members) {
    List<String> others = members.stream()
        .flatMap(List::stream)
        .filter((member) -> differs(member, own, version))
        .map((member) -> member.nodeId() + facts(member.lease(), member.version(), member.label()))
        .distinct()
        .toList();
    if (!others.isEmpty() && !this.differing) {
      log.warn(
          "members differ from this node{}: {}. When a leader dies, no node leads for its lease: set as.election.lease-duration alike. Another environment needs its own service-id or store. During a rolling restart this is expected",
          facts(own.leaseDuration(), version, own.label()),
          list(others));
    }
    this.differing = !others.isEmpty();
  }

  /** What is unknown does not differ. */
  private static boolean differs(Member member, LeaseSettings own, String version) {
    return (!member.lease().isZero() && !member.lease().equals(own.leaseDuration()))
        || differ(member.version(), version)
        || differ(member.label(), own.label());
  }

  private static boolean differ(String fact, String own) {
    return !fact.isEmpty() && !own.isEmpty() && !fact.equals(own);
  }

  private static String facts(Duration lease, String version, String label) {
    return " (lease %s%s%s)"
        .formatted(
            lease,
            version.isEmpty() ? "" : ", version " + version,
            label.isEmpty() ? "" : ", label " + label);
  }

  void membersNotRead(Exception failure) {
    log.debug("the members could not be read again", failure);
  }

  void notWithdrawn(Throwable failure) {
    log.debug("this node is shown as a member for another three leases", failure);
  }

  /** The elector's thread has logged the cause. */
  void pollFailed(Exception failure) {
    log.debug("the records were not read after the store had signalled a change", failure);
  }

  /** Logged when the drain timeout after a command is over, or the lease has ended. */
  void leaseOver(String serviceId, String nodeId, long term, Collection<String> work) {
    log.warn(
        "election '{}': leader work of node {} still runs although its lease of term {} ends: {}; another node may start the same work now",
        serviceId,
        nodeId,
        term,
        list(work));
  }

  /**
   * Logs that a lease is kept after a stop.
   *
   * @param again whether it had run out
   */
  void keeps(String serviceId, String nodeId, Collection<String> work, boolean again) {
    log.warn(
        "election '{}': node {} was stopped, but leader work still runs: {}; it {} the lease until the work or the process ends. To let another node lead sooner, designate one or force an election",
        serviceId,
        nodeId,
        list(work),
        again ? "has renewed and keeps" : "keeps");
  }

  void givenUp(String serviceId, String nodeId, Collection<String> work) {
    log.warn(
        "election '{}': node {}, which was stopped, no longer has a lease although leader work still runs: {}; another node may start the same work now",
        serviceId,
        nodeId,
        list(work));
  }

  /** Logs that the precedence of a node keeps it from an election that is open. */
  void standsLater(String serviceId, String nodeId, Precedence.Turn turn) {
    log.info(
        "election '{}' is open, but node {} {}{}",
        serviceId,
        nodeId,
        turn.kind() == Precedence.Kind.HOLD_BACK
            ? "holds back for " + turn.time().toMillis() + " ms"
            : "stands aside",
        turn.reason().isEmpty() ? "" : ": " + turn.reason());
  }

  /** Logs that code of the application gave no valid answer. Used by any thread. */
  void wrongAnswer(
      String serviceId,
      String asked,
      String problem,
      String consequence,
      @Nullable Throwable failure,
      long now) {
    synchronized (this.answers) {
      this.answers.failed(
          "election '%s': %s %s".formatted(serviceId, asked, problem), consequence, failure, now);
    }
  }

  /**
   * Logs that a start must wait.
   *
   * @param work the leader work that it waits for; null if it waits for a call to the store
   */
  void waits(String serviceId, String nodeId, @Nullable List<String> work) {
    log.warn(
        "election '{}': node {} was started again, and does not stand until {}",
        serviceId,
        nodeId,
        work == null
            ? "a call to the store from before the stop has returned"
            : "leader work from before the stop has ended: %s. To let another node lead sooner, designate one or force an election"
                .formatted(list(work)));
  }

  /** Lists a limited number of names. */
  private static String list(Collection<String> names) {
    String first = names.stream()
        .limit(MAX_NAMED)
        .map((name) -> Names.printable(name, 255))
        .collect(Collectors.joining(", "));
    return names.size() > MAX_NAMED
        ? first + " and " + (names.size() - MAX_NAMED) + " more"
        : first;
  }

  void notHandedBack() {
    log.warn(
        "the {} store does not answer: leases were not handed back, other nodes can take over when they expire",
        this.store);
  }

  void failedUnexpectedly(Throwable failure) {
    log.error("the elector failed and continues", failure);
  }

  void listenerFailed(LeadershipEvent event, Throwable failure) {
    log.error("a listener failed on {}", event, failure);
  }

  void listenerStillRuns() {
    log.warn("a listener of leadership events still runs: later events are delayed");
  }

  void interrupted(InterruptedException ex) {
    log.debug("interrupted; continues to wait", ex);
  }

  void workUnknown(Throwable failure, long now) {
    this.unknownWork.failed(
        "whether leader work runs is unknown: " + failure, "it counts as running", failure, now);
  }

  /** Names only the leaderships that end first, because a node may lead hundreds of elections. */
  private static String consequence(Map<String, Long> remaining) {
    StringBuilder text = new StringBuilder("keeps trying");
    remaining.entrySet().stream()
        .sorted(Map.Entry.comparingByValue())
        .limit(MAX_NAMED)
        .forEach((entry) -> text.append("; leads '")
            .append(entry.getKey())
            .append("' for another ")
            .append(entry.getValue())
            .append(" ms unless a renewal succeeds"));
    if (remaining.size() > MAX_NAMED) {
      text.append("; and ").append(remaining.size() - MAX_NAMED).append(" others no shorter");
    }
    return text.toString();
  }

  private static @Nullable LeaseRow row(Candidacy candidacy) {
    Observation seen = candidacy.seen();
    return seen != null ? seen.row() : null;
  }
}
