package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.keyvalue.KeyValueServer.Query;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.Signal;
import io.election.test.LeaseStoreContract;
import io.election.test.Leases;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * The contract of a store on an etcd of three members, by one that follows, and what is true while
 * members are gone.
 */
@Tag("long")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class EtcdClusterIT extends LeaseStoreContract {

  private final List<EtcdProcess> members = EtcdProcess.startCluster(3);

  private String prefix = "";

  @AfterAll
  void stop() {
    this.members.forEach(EtcdProcess::close);
  }

  private EtcdProcess member(boolean leads) {
    return this.members.stream()
        .filter((member) -> member.leads() == leads)
        .findFirst()
        .orElseThrow();
  }

  @Override
  protected LeaseStore open() {
    return store(member(false));
  }

  private LeaseStore store(EtcdProcess member) {
    return EtcdLeaseStore.builder(List.of(member.url()))
        .prefix(this.prefix)
        .operationTimeout(Duration.ofSeconds(10))
        .build();
  }

  @BeforeEach
  void beginEmpty() {
    this.prefix = "/" + UUID.randomUUID() + "/";
  }

  /** A member that does not hear of the others may miss what they have agreed to since. */
  @Test
  void aMemberWithoutAQuorumAnswersNoFreshRead() throws Exception {
    EtcdProcess alone = member(false);
    List<EtcdProcess> others =
        this.members.stream().filter((member) -> member != alone).toList();
    Query fresh = new Query(Set.of("x"), Set.of(), true);
    try (EtcdServer server = alone.connect(this.prefix, Duration.ofSeconds(5))) {
      Awaitility.await().ignoreExceptions().until(() -> isAnswered(server, fresh));
      others.forEach((member) -> member.send(Signal.STOP));

      server.begin();
      server.read(new Query(Set.of("x"), Set.of(), false));
      assertThatThrownBy(() -> server.read(fresh)).isInstanceOf(LeaseStoreException.class);

      others.forEach((member) -> member.send(Signal.CONT));
      Awaitility.await().ignoreExceptions().until(() -> isAnswered(server, fresh));
    } finally {
      others.forEach((member) -> member.send(Signal.CONT));
    }
  }

  private static boolean isAnswered(EtcdServer server, Query query) throws LeaseStoreException {
    server.begin();
    return server.read(query).entries().isEmpty();
  }

  /** Whoever leads the cluster, and while it chooses: a lease is that of one node. */
  @Test
  void aLeaseOutlastsTheMemberThatLedTheCluster() throws Exception {
    EtcdProcess gone = member(true);
    long term = led(SERVICE, A).term();
    LeaseRow before = seenByAnother(SERVICE);
    gone.kill();
    try {
      Awaitility.await()
          .ignoreExceptions()
          .until(() -> Leases.renew(store(), A, Map.of(SERVICE, term)).contains(SERVICE));
      assertThat(row(SERVICE).own()).isTrue();
      assertThat(Leases.acquire(another(), SERVICE, before, B, LEASE, 0, "EXPIRED"))
          .isEmpty();

      assertThat(Leases.acquire(another(), SERVICE, seenByAnother(SERVICE), B, LEASE, 0, "EXPIRED")
              .orElseThrow())
          .isGreaterThan(term);
      assertThat(renew(A, Map.of(SERVICE, term))).isEmpty();
    } finally {
      gone.run();
    }
  }
}
