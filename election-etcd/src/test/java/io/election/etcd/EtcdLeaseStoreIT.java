package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipAcquiredEvent;
import io.election.keyvalue.ConditionalWrites;
import io.election.keyvalue.KeyValueEdits;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.test.Leases;
import io.election.test.ManualEdits;
import io.election.test.ManualEditsContract;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of a store, on a real etcd, with edits by its command line. */
class EtcdLeaseStoreIT extends ManualEditsContract {

  private final EtcdProcess etcd = EtcdProcess.shared();

  private final String prefix = "/" + UUID.randomUUID() + "/";

  @Override
  protected LeaseStore open() {
    return EtcdLeaseStore.builder(List.of(this.etcd.url()))
        .prefix(this.prefix)
        .operationTimeout(Duration.ofSeconds(10))
        .build();
  }

  @Override
  protected ManualEdits edits() {
    return new KeyValueEdits(new Etcdctl(this.etcd, this.prefix));
  }

  @Test
  void aRecordIsOneKeyThatNamesTheElection() throws Exception {
    led("AccountService:1.0.0", A);

    assertThat(this.etcd.ctl("get", this.prefix + "AccountService:1.0.0", "--print-value-only"))
        .contains("\"leader\":\"" + A + "\"");
  }

  @Test
  void aWriteHappensOnlyIfItsKeyIsAsExpected() throws Exception {
    try (EtcdServer server = this.etcd.connect(this.prefix, Duration.ofSeconds(2))) {
      ConditionalWrites.areRefused(server);
    }
  }

  @Test
  void anOperatorDesignatesByTheNameAlone() throws Exception {
    long term = led(SERVICE, A).term();

    this.etcd.ctl("put", this.prefix + SERVICE, " " + B + " ");

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(LEASE);
    assertThat(renew(A, Map.of(SERVICE, term))).isEmpty();
    assertThat(cede(SERVICE, A, term, DISPLACED)).isTrue();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")
            .orElseThrow())
        .isGreaterThan(term);
  }

  @Test
  void termsGrowThoughEverythingIsDeleted() throws Exception {
    long term = led(SERVICE, A).term();

    this.etcd.ctl("del", "--prefix", this.prefix);

    assertThat(renew(A, Map.of(SERVICE, term))).isEmpty();
    assertThat(led(SERVICE, B).term()).isGreaterThan(term);
  }

  /** Between the keys of two of them are those of all heartbeats. */
  @Test
  void moreElectionsThanATransactionMayCompareAreRenewedTogether() throws Exception {
    Map<String, Long> terms = new TreeMap<>(leadMany(150));
    terms.put("账户", led("账户", A).term());
    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
    long before = this.etcd.requests();
    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
    assertThat(this.etcd.requests() - before).as("requests").isEqualTo(1);

    this.etcd.ctl("put", this.prefix + "service-7", B);
    terms.remove("service-7");

    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
    assertThat(store().read(terms.keySet())).hasSize(150);
  }

  @Test
  void ofMoreElectionsThanATransactionMayCompareOneThatAnotherNodeTookIsLost() throws Exception {
    Map<String, Long> terms = new TreeMap<>(leadMany(150));
    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
    assertThat(Leases.acquire(
            another(), "service-77", seenByAnother("service-77"), B, LEASE, 0, "EXPIRED"))
        .isPresent();

    assertThat(renew(A, terms)).hasSize(149).doesNotContain("service-77");
    assertThat(row("service-77").leaderId()).isEqualTo(B);
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 24})
  void aServerThatAllowsFewerOperationsIsObeyed(int operations) throws Exception {
    try (EtcdProcess strict = EtcdProcess.start("--max-txn-ops=" + operations);
        LeaseStore store = EtcdLeaseStore.builder(List.of(strict.url()))
            .operationTimeout(Duration.ofSeconds(10))
            .build()) {
      Map<String, Long> terms = new TreeMap<>();
      for (int i = 0; i < 80; i++) {
        LeaseRow created = Leases.create(store, "service-" + i, A, LEASE, 0).orElseThrow();
        terms.put(
            "service-" + i, Leases.begin(store, "service-" + i, created, LEASE).orElseThrow());
      }

      assertThat(store.read(terms.keySet())).hasSize(80);
      assertThat(Leases.renew(store, A, terms)).isEqualTo(terms.keySet());
    }
  }

  @Test
  void aServerThatAllowsTooFewOperationsIsToldWithARemedy() throws Exception {
    try (EtcdProcess strict = EtcdProcess.start("--max-txn-ops=1");
        LeaseStore store = EtcdLeaseStore.builder(List.of(strict.url()))
            .operationTimeout(Duration.ofSeconds(10))
            .build()) {
      assertThatThrownBy(() -> store.read(
              IntStream.range(0, 80).mapToObj(Integer::toString).collect(Collectors.toSet())))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("--max-txn-ops=128");
    }
  }

  @Test
  void manyElectionsAreRenewedWhileOthersWriteTheirs() throws Exception {
    Map<String, Long> terms = leadMany(150);
    LeaseRow row = another()
        .create("service-7a", new Claim(B, LEASE, 0, LeadershipAcquiredEvent.Reason.CREATED))
        .orElseThrow();
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Integer> others = CompletableFuture.supplyAsync(() -> {
      LeaseRow warm = row;
      int touches = 0;
      try {
        for (; !over.get(); touches++) {
          warm = another().touch("service-7a", warm).orElseThrow();
          LockSupport.parkNanos(2_000_000);
        }
      } catch (LeaseStoreException ex) {
        throw new IllegalStateException(ex);
      }
      return touches;
    });

    for (int i = 0; i < 50; i++) {
      assertThat(renew(A, terms)).isEqualTo(terms.keySet());
    }

    over.set(true);
    assertThat(others.get()).isPositive();
  }

  /** The real command line. */
  private record Etcdctl(EtcdProcess etcd, String prefix) implements KeyValueEdits.Hand {

    @Override
    public void put(String key, String value) {
      this.etcd.ctl("put", this.prefix + key, value);
    }

    @Override
    public void delete(String key) {
      this.etcd.ctl("del", this.prefix + key);
    }

    @Override
    public Map<String, String> below(String parent) {
      Map<String, String> values = new TreeMap<>();
      String[] lines =
          this.etcd.ctl("get", "--prefix", this.prefix + parent + "/").split("\n");
      for (int i = 0; i + 1 < lines.length; i += 2) {
        values.put(lines[i].substring(this.prefix.length()), lines[i + 1]);
      }
      return values;
    }

    @Override
    public String get(String key) {
      return this.etcd.ctl("get", this.prefix + key, "--print-value-only").strip();
    }
  }
}
