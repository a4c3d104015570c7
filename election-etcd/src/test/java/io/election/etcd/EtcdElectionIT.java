package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import io.election.support.process.LocalSampler;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two nodes with their electors in real time, and an operator. */
@Tag("faults")
class EtcdElectionIT {

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(5), Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ZERO, true);

  private final EtcdProcess etcd = EtcdProcess.start();
  private final Node a = new Node("host:8080:1");
  private final Node b = new Node("host:8080:2");
  private final LocalSampler sampler = new LocalSampler();

  private final class Node {

    final Elector elector;

    final LeaseElectionService service;

    Node(String id) {
      this.elector = new Elector(
          EtcdLeaseStore.builder(List.of(EtcdElectionIT.this.etcd.url()))
              .prefix("/soa/master/")
              .operationTimeout(SETTINGS.operationTimeout())
              .build(),
          SETTINGS,
          () -> id,
          (serviceId) -> false,
          (event) -> {},
          System::nanoTime,
          InstantSource.system());
      this.service = new LeaseElectionService("AccountService:1.0.0", this.elector);
      this.elector.start(List.of(this.service));
    }
  }

  EtcdElectionIT() {
    this.sampler.add("a", this.a.service);
    this.sampler.add("b", this.b.service);
  }

  @AfterEach
  void neverBoth() {
    this.sampler.close();
    this.a.elector.stop();
    this.b.elector.stop();
    this.etcd.close();
    assertThat(this.sampler.judge().violations()).isEmpty();
  }

  private Node awaitLeader() {
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> this.a.service.isLeader() || this.b.service.isLeader());
    return this.a.service.isLeader() ? this.a : this.b;
  }

  @Test
  void aNodeThatStopsHandsOver() {
    Node leader = awaitLeader();
    Node follower = leader == this.a ? this.b : this.a;
    Awaitility.await().until(() -> follower.service.leaderId().equals(leader.service.leaderId()));

    leader.elector.stop();

    assertThat(awaitLeader()).isSameAs(follower);
  }

  @Test
  void nobodyLeadsWithoutTheServerAndOneDoesAfterwards() {
    awaitLeader();

    this.etcd.kill();
    Awaitility.await().until(() -> !this.a.service.isLeader() && !this.b.service.isLeader());
    this.etcd.run();

    awaitLeader();
  }

  @Test
  void anOperatorDesignatesAndForcesAnElection() {
    Node leader = awaitLeader();
    Node follower = leader == this.a ? this.b : this.a;

    this.etcd.ctl(
        "put",
        "/soa/master/AccountService:1.0.0",
        follower == this.a ? "host:8080:1" : "host:8080:2");
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(follower.service::isLeader);
    long term = follower.service.leadership().orElseThrow().term();

    this.etcd.ctl("del", "/soa/master/AccountService:1.0.0");
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> !follower.service.isLeader());
    assertThat(awaitLeader().service.leadership().orElseThrow().term()).isGreaterThan(term);
  }
}
