package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.lease.Clocks.Reading;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class ElectionLogTest {

  private static final Node NODE = new Node("a", ElectorFixture.SETTINGS);

  private static final LeaseStoreException FAILURE = new LeaseStoreException("it is gone.");

  private final Logger logger = (Logger) LoggerFactory.getLogger(Elector.class);

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  private final ElectionLog log = new ElectionLog("test");

  @BeforeEach
  void listen() {
    this.logger.setLevel(Level.DEBUG);
    this.logger.addAppender(this.logged);
    this.logged.start();
  }

  @AfterEach
  void hush() {
    this.logger.detachAppender(this.logged);
    this.logger.setLevel(Level.OFF);
  }

  private void assertThatLinesAre(String... lines) {
    assertThat(this.logged.list)
        .extracting((event) -> event.getLevel() + " " + event.getFormattedMessage())
        .containsExactly(lines);
    this.logged.list.clear();
  }

  @Test
  void whatHarmsNoLeadershipIsLoggedForDebugging() {
    this.log.historyUnknown(FAILURE, false, 0);
    this.log.notPruned(FAILURE);
    this.log.membersNotRead(FAILURE);
    this.log.notWithdrawn(FAILURE);
    this.log.pollFailed(FAILURE);
    this.log.interrupted(new InterruptedException());
    assertThatLinesAre(
        "DEBUG the history was not read",
        "DEBUG the history was not pruned",
        "DEBUG the members could not be read again",
        "DEBUG this node is shown as a member for another three leases",
        "DEBUG the records were not read after the store had signalled a change",
        "DEBUG interrupted; continues to wait");
  }

  @Test
  void unknownMembersAreLoggedOnceUntilTheyAreKnownAgain() {
    this.log.membersKnown();
    this.log.membersUnknown(FAILURE);
    this.log.membersUnknown(FAILURE);
    this.log.membersKnown();
    this.log.membersKnown();
    assertThatLinesAre(
        "INFO the members are unknown: it is gone. Until that works, no members are shown and designations are not checked",
        "DEBUG announcing this node failed",
        "DEBUG announcing this node failed again",
        "INFO the members are known again");
  }

  private static LeaseRow row(String leaderId, long term, long leaseMillis) {
    return new LeaseRow(leaderId, term, leaseMillis, term, false);
  }

  private static Candidacy follower(@Nullable LeaseRow row, boolean shared) {
    Candidacy start = Candidacy.start(NODE, 0);
    return new Candidacy(
        NODE,
        start.participation(),
        start.remembered(),
        new State.Follower(new Observation(row, 0, false), shared),
        0);
  }

  /** Leads until so many milliseconds after 9,800. */
  private Candidate leader(String serviceId, int millis) {
    Clocks clocks = new Clocks(() -> 0, () -> Instant.EPOCH);
    Candidate candidate = new Candidate(
        serviceId,
        NODE::id,
        NODE.settings(),
        clocks,
        new RunningWork((id) -> false, clocks, this.log),
        new EventDelivery((event) -> {}, () -> {}, Duration.ZERO, this.log),
        null,
        () -> {});
    candidate.change((stopped) -> Candidacy.start(NODE, 0)
        .onAcquired(
            new Step.Acquire(row("", 0, 0), Reason.RELEASED),
            OptionalLong.of(1),
            new Timing(new Reading(millis * 1_000_000L, millis, 0), new Reading(0, 0, 0))));
    this.logged.list.clear();
    return candidate;
  }

  @Test
  void whatANodeDoesIsLogged() {
    Step.Caller caller = new Step.Caller("jobs", "a", 10_000, 0);
    TermEnd ending = TermEnd.of(LeadershipLostEvent.Reason.RESIGNED);
    this.log.joined("jobs", NODE);
    this.log.joined("jobs", new Node("w", ElectorFixture.settings(Duration.ZERO, false)));
    this.log.answered(caller, new Step.Create(0), Optional.of(row("a", 1, 20_000)));
    this.log.answered(caller, new Step.Create(0), Optional.empty());
    Step.Acquire acquire = new Step.Acquire(row("a", 1, 0), Reason.CREATED);
    this.log.answered(caller, acquire, OptionalLong.empty());
    this.log.answered(caller, new Step.Release(3, "", ending), true);
    this.log.answered(caller, new Step.Release(3, "b\n", ending), true);
    this.log.answered(caller, new Step.Release(3, "", ending), false);
    this.log.answered(caller, new Step.Cede(3, ending), true);
    assertThatLinesAre(
        "INFO node a stands for election 'jobs' by test (lease PT10S, renewed every PT2S)",
        "INFO node w is not eligible and watches election 'jobs' by test (lease PT10S, renewed every PT2S)",
        "INFO election 'jobs' had no record: node a created it and will lead in 20000 ms unless another node claims it, because a deleted record may have had a leader",
        "INFO try acquire leader by test with result: false (election 'jobs', node a)",
        "INFO election 'jobs': node a handed term 3 back",
        "INFO election 'jobs': node a handed term 3 back to b\\u000a");
  }

  @Test
  void aChangeOfLeadershipIsLoggedAndWarnsIfNobodyWantedIt() {
    this.log.changed(new LeadershipAcquiredEvent("jobs", "a", 3, Reason.RELEASED));
    assertThatLinesAre("INFO become leader by test: election 'jobs', node a, term 3 (RELEASED)");
    for (LeadershipLostEvent.Reason reason : LeadershipLostEvent.Reason.values()) {
      this.log.changed(new LeadershipLostEvent("jobs", "a", 3, reason));
      boolean warns = Set.of("EXPIRED", "DISPLACED").contains(reason.name());
      assertThatLinesAre((warns ? "WARN" : "INFO")
          + " lost leader by test: election 'jobs', node a, term 3 (" + reason + ")");
    }
  }

  @Test
  void anotherHolderIsLoggedOnceAndATwinWarns() {
    LeaseRow held = row("b", 3, 10_000);
    Candidacy unread = Candidacy.start(NODE, 0);
    Candidacy before = follower(held, false);
    this.log.observed("jobs", unread, before, 0);
    this.log.observed("jobs", before, follower(row("c", 3, 10_000), false), 0);
    this.log.observed("jobs", before, follower(row("b", 4, 10_000), false), 0);
    assertThatLinesAre(
        "INFO election 'jobs' is held by b in term 3",
        "INFO election 'jobs' is held by c in term 3",
        "INFO election 'jobs' is held by b in term 4");
    // The same holder, another write; this node; nobody; no record; the first read of a twin.
    this.log.observed("jobs", before, before, 0);
    this.log.observed("jobs", before, follower(row("b", 3, 9_000), false), 0);
    this.log.observed("jobs", before, follower(row("a", 4, 10_000), false), 0);
    this.log.observed("jobs", before, follower(row("c", 4, 0), false), 0);
    this.log.observed("jobs", before, follower(null, true), 0);
    this.log.observed("jobs", unread, follower(row("a", 4, 10_000), true), 0);
    this.log.observed("jobs", before, follower(held, true), 0);
    assertThatLinesAre();
    this.log.observed("jobs", before, follower(row("a", 4, 10_000), true), 0);
    assertThat(this.logged.list)
        .last()
        .satisfies((event) -> assertThat(event.toString())
            .startsWith("[WARN] another process uses node id 'a' in election 'jobs'")
            .endsWith("(this one only watches)"));
  }

  @Test
  void aLeaseLongerThanThatOfTheNodeIsLoggedOnce() {
    Candidacy unread = Candidacy.start(NODE, 0);
    Candidacy same = follower(row("b", 3, 10_000), false);
    Candidacy longer = follower(row("b", 3, 30_000_000), false);
    this.log.observed("jobs", same, longer, 0);
    this.log.observed("jobs", longer, follower(row("b", 3, 30_000_000).own(true), false), 0);
    this.log.observed("jobs", longer, same, 0);
    this.log.observed("jobs", longer, follower(row("b", 3, 0), false), 0);
    this.log.observed("jobs", longer, follower(row("b", 3, 9_999), false), 0);
    String warning =
        "WARN election 'jobs': the record promises b a lease of 3600000 ms, longer than the 10000 ms of this node: if it dies, no node leads for so long. If no node has that as.election.lease-duration, the record was edited: force an election while the leader lives";
    assertThatLinesAre(warning);
    this.log.observed("jobs", unread, longer, 0);
    assertThatLinesAre("INFO election 'jobs' is held by b in term 3", warning);
  }

  @Test
  void whatFailsIsLoggedWithTheLeadershipsThatEndFirstUntilItWorksAgain() {
    this.logger.setLevel(Level.INFO);
    List<Candidate> leaders =
        IntStream.range(0, 6).mapToObj((i) -> leader("jobs-" + i, 10 * i)).toList();
    String five = IntStream.range(0, 5)
        .mapToObj((i) -> "; leads 'jobs-%d' for another %d ms unless a renewal succeeds"
            .formatted(i, 9_800 + 10 * i))
        .collect(Collectors.joining());
    this.log.storeFailed(FAILURE, Candidate.remaining(leaders), 0);
    this.log.renewedInPart(FAILURE, Candidate.remaining(leaders.subList(0, 5)), 0);
    this.log.renewedAll(0);
    this.log.storeAnswered(true, 0);
    this.log.storeAnswered(true, 0);
    assertThatLinesAre(
        "WARN it is gone. (keeps trying" + five + "; and 1 others no shorter)",
        "WARN it is gone. (keeps trying" + five + ")",
        "INFO the renewal of all leases works again after 1 failures in 0 s",
        "INFO the test store works again after 1 failures in 0 s");
    this.log.storeFailed(FAILURE, Map.of(), 60_000_000_000L);
    this.log.storeAnswered(false, 60_000_000_000L);
    this.log.storeAnswered(true, 60_000_000_000L);
    assertThatLinesAre("WARN it is gone. (keeps trying)");
  }

  @Test
  void workThatThrowsCountsAsRunningAndIsLogged() {
    LeaderWork broken = new LeaderWork() {
      @Override
      public boolean isRunning(String serviceId) {
        throw new IllegalStateException("it is broken");
      }

      @Override
      public void onLeaseOver(String serviceId, long term) {
        throw new IllegalStateException("it is broken");
      }
    };
    RunningWork work = new RunningWork(broken, new Clocks(() -> 0, () -> Instant.EPOCH), this.log);
    assertThat(work.isRunning("jobs")).isTrue();
    assertThat(work.mayBeRunning("jobs")).isTrue();
    String name = "unknown: java.lang.IllegalStateException: it is broken";
    assertThat(work.names("jobs")).containsExactly(name);
    this.logged.list.clear();
    work.leaseOver("jobs", Candidacy.start(NODE, 0), 3);
    assertThatLinesAre(
        "ERROR the elector failed and continues",
        "WARN election 'jobs': leader work of node a still runs although its lease of term 3 ends: "
            + name + "; another node may start the same work now");
  }

  @Test
  void membersThatDifferAreNamedOnceUntilTheyAgreeAgain() {
    Duration lease = Duration.ofSeconds(10);
    LeaseSettings own = settings(lease, "prod");
    Member same = member("a", lease, "1.0", "prod");
    Member unknown = member("old", Duration.ZERO, "", "");
    Member slower = member("b", Duration.ofSeconds(30), "1.0", "prod");
    Member newer = member("c", lease, "1.1", "");
    Member stranger = member("d", lease, "", "staging");
    this.log.membersDiffer(own, "1.0", List.of(List.of(same, unknown), List.of(same)));
    this.log.membersDiffer(settings(lease, ""), "", List.of(List.of(same, newer, stranger)));
    assertThatLinesAre();
    this.log.membersDiffer(
        own, "1.0", List.of(List.of(same, slower, newer, unknown), List.of(newer, stranger)));
    this.log.membersDiffer(own, "1.0", List.of(List.of(same, newer)));
    this.log.membersDiffer(own, "1.0", List.of(List.of(same)));
    this.log.membersDiffer(settings(lease, ""), "", List.of(List.of(slower)));
    String remedy =
        ". When a leader dies, no node leads for its lease: set as.election.lease-duration alike. Another environment needs its own service-id or store. During a rolling restart this is expected";
    assertThatLinesAre(
        "WARN members differ from this node (lease PT10S, version 1.0, label prod): b (lease PT30S, version 1.0, label prod), c (lease PT10S, version 1.1), d (lease PT10S, label staging)"
            + remedy,
        "WARN members differ from this node (lease PT10S): b (lease PT30S, version 1.0, label prod)"
            + remedy);
  }

  private static LeaseSettings settings(Duration lease, String label) {
    Duration brief = Duration.ofSeconds(1);
    return new LeaseSettings(lease, brief, brief, brief, true, Duration.ofDays(1), label);
  }

  private static Member member(String nodeId, Duration lease, String version, String label) {
    return new Member(
        nodeId, Instant.EPOCH, Instant.EPOCH, true, false, version, "mysql", "", lease, label);
  }

  @Test
  void workAndListenersAreNamed() {
    LeadershipAcquiredEvent event = new LeadershipAcquiredEvent("jobs", "a", 3, Reason.RELEASED);
    this.log.leaseOver("jobs", "a", 3, List.of("1", "2", "3", "4", "5"));
    this.log.givenUp("jobs", "a", List.of("1", "2", "3", "4", "5", "6", "7"));
    this.log.notHandedBack();
    this.log.listenerFailed(event, FAILURE);
    this.log.listenerStillRuns();
    assertThatLinesAre(
        "WARN election 'jobs': leader work of node a still runs although its lease of term 3 ends: 1, 2, 3, 4, 5; another node may start the same work now",
        "WARN election 'jobs': node a, which was stopped, no longer has a lease although leader work still runs: 1, 2, 3, 4, 5 and 2 more; another node may start the same work now",
        "WARN the test store does not answer: leases were not handed back, other nodes can take over when they expire",
        "ERROR a listener failed on " + event,
        "WARN a listener of leadership events still runs: later events are delayed");
  }
}
