package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.Instruction;
import io.election.Member;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Tests nodes that announce themselves, stepped by a ticked clock. */
class MembersTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ofSeconds(5), true);

  private final AtomicLong clock = new AtomicLong();

  private final SimulatedDatabase database = new SimulatedDatabase();

  /** The announcements, visible to all nodes. */
  private final Map<String, MemberRegister.Announcement> entries = new TreeMap<>();

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  @BeforeEach
  void listen() {
    this.logged.start();
    ((Logger) LoggerFactory.getLogger(Elector.class)).addAppender(this.logged);
  }

  @AfterEach
  void hush() {
    ((Logger) LoggerFactory.getLogger(Elector.class)).detachAppender(this.logged);
  }

  private final class Register extends SimulatedDatabase.Store implements MemberRegister {

    /** The times at which the node was announced. */
    final List<Duration> announced = new ArrayList<>();

    boolean broken;

    boolean error;

    Register() {
      MembersTest.this.database.super();
    }

    private void call(String name) throws LeaseStoreException {
      this.calls.add(name);
      if (this.error) {
        throw new NoClassDefFoundError("injected");
      }
      if (this.broken) {
        throw new LeaseStoreException("there is no such table.");
      }
    }

    @Override
    public void announce(Announcement self) throws LeaseStoreException {
      this.announced.add(Duration.ofNanos(MembersTest.this.clock.get()));
      call("announce");
      MembersTest.this.entries.put(self.nodeId(), self);
    }

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      call("members");
      Map<String, List<Member>> members = new HashMap<>();
      MembersTest.this
          .entries
          .values()
          .forEach((entry) -> entry.serviceIds().stream()
              .filter(serviceIds::contains)
              .forEach((id) -> members
                  .computeIfAbsent(id, (key) -> new ArrayList<>())
                  .add(new Member(
                      entry.nodeId(),
                      Instant.EPOCH,
                      Instant.EPOCH,
                      entry.eligible(),
                      entry.paused().contains(id),
                      entry.version()))));
      return members;
    }

    @Override
    public void withdraw(String nodeId) throws LeaseStoreException {
      call("withdraw");
      MembersTest.this.entries.remove(nodeId);
    }
  }

  private final class Node {

    final Register store = new Register();

    final Elector elector;

    final LeaseElectionService service;

    Node(String id) {
      this.elector = new Elector(
          this.store,
          SETTINGS,
          () -> id,
          (serviceId) -> false,
          (event) -> {},
          MembersTest.this.clock::get,
          () -> Instant.EPOCH.plusNanos(MembersTest.this.clock.get()));
      this.service = new LeaseElectionService("jobs", this.elector);
      this.elector.join(List.of(this.service));
    }

    List<String> members() {
      return this.service.members().orElseThrow().stream().map(Member::nodeId).toList();
    }

    long calls(String name) {
      return this.store.calls.stream().filter(name::equals).count();
    }
  }

  private void run(Duration duration, Node... nodes) {
    long end = this.clock.get() + duration.toNanos();
    while (this.clock.get() < end) {
      for (Node node : nodes) {
        node.elector.step();
      }
      this.clock.addAndGet(Duration.ofMillis(50).toNanos());
    }
  }

  @Test
  void nodesAnnounceThemselvesAndLeaveWhenTheyStop() {
    Node a = new Node("a");
    assertThat(a.service.members()).isEmpty();
    Node b = new Node("b");
    run(LEASE.multipliedBy(2), a, b);
    assertThat(a.members()).containsExactly("a", "b");
    assertThat(b.members()).containsExactly("a", "b");

    b.service.pause(new Instruction("alice", "canary"));
    run(LEASE.multipliedBy(3), a, b);
    assertThat(a.service.members().orElseThrow())
        .extracting(Member::paused)
        .containsExactly(false, true);

    b.elector.stop();
    run(LEASE.multipliedBy(2), a);
    assertThat(a.members()).containsExactly("a");
  }

  @Test
  void aNodeWritesOnceALeaseAndOnlyWhenNothingElseIsDue() {
    Node leader = new Node("a");
    run(LEASE.multipliedBy(2), leader);
    Node follower = new Node("b");
    run(LEASE.multipliedBy(30), leader, follower);

    for (Node node : List.of(leader, follower)) {
      List<Duration> at = node.store.announced;
      assertThat(at).hasSizeGreaterThan(20);
      for (int i = 1; i < at.size(); i++) {
        assertThat(at.get(i).minus(at.get(i - 1))).isGreaterThanOrEqualTo(LEASE);
      }
      assertThat(node.calls("members")).isEqualTo(node.calls("announce"));
      List<String> calls = node.store.calls;
      String urgent = node == leader ? "create" : "read";
      assertThat(calls.indexOf("announce")).isGreaterThan(calls.indexOf(urgent));
    }
    assertThat(leader.service.isLeader()).isTrue();
  }

  /** Each member would read all the others. */
  @Test
  void hundredsOfMembersAreReadLessOften() {
    IntStream.range(0, 500)
        .forEach((i) -> this.entries.put(
            "node-" + i,
            new MemberRegister.Announcement(
                "node-" + i, Set.of("jobs"), Set.of(), true, LEASE, "")));
    Node node = new Node("a");
    run(LEASE.multipliedBy(60), node);

    assertThat(node.members()).hasSize(501);
    assertThat(node.calls("members") * 5).isBetween(30L, node.calls("announce"));
  }

  @Test
  void aRegisterThatFailsHarmsNoElectionAndIsToldOnce() {
    Node node = new Node("a");
    node.store.broken = true;
    run(LEASE.multipliedBy(2), node);
    long term = node.service.term().orElseThrow();
    run(LEASE.multipliedBy(20), node);

    assertThat(node.service.leadership()).isPresent();
    assertThat(node.service.term()).hasValue(term);
    assertThat(node.service.members()).isEmpty();
    assertThat(node.elector.storeContact().orElseThrow().failure()).isNull();
    assertThat(lines()).filteredOn((line) -> line.contains("no such table")).hasSize(1);
    assertThat(this.logged.list).noneMatch((event) -> event.getLevel().levelStr.equals("WARN"));

    node.store.broken = false;
    run(LEASE.multipliedBy(2), node);
    assertThat(node.members()).containsExactly("a");
    assertThat(lines()).filteredOn((line) -> line.contains("known again")).hasSize(1);
    node.store.broken = true;
    node.elector.stop();
    assertThat(this.database.row("jobs").isReleased()).isTrue();
  }

  @Test
  void anOperatorReadsTheMembersAnewUnlessTheyCannotBeRead() throws Exception {
    Node a = new Node("a");
    run(LEASE.multipliedBy(2), a);
    this.entries.put(
        "b", new MemberRegister.Announcement("b", Set.of("jobs"), Set.of(), true, LEASE, "1.0"));
    assertThat(a.members()).containsExactly("a");
    assertThat(a.service.currentMembers().orElseThrow())
        .extracting(Member::nodeId)
        .containsExactly("a", "b");
    a.store.broken = true;
    assertThat(a.service.currentMembers().orElseThrow()).hasSize(2);
    a.store.broken = false;

    a.service.designate("b");
    a.elector.step();
    assertThat(lines()).noneMatch((line) -> line.contains("has not led lately"));
  }

  private List<String> lines() {
    return this.logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }
}
