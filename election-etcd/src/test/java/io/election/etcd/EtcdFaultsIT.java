package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.store.ElectionDirectory;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.support.Signal;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An etcd that is restarted, paused, restored, full, or locked. */
@Tag("faults")
class EtcdFaultsIT {

  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** For calls that are not to time out, however busy the machine is. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final List<AutoCloseable> open = new ArrayList<>();

  private final EtcdProcess etcd;

  private final LeaseStore store;

  EtcdFaultsIT() {
    this.etcd = EtcdProcess.start("--quota-backend-bytes=20000000");
    this.store = newStore("", "");
    awaitAnswer();
  }

  private LeaseStore newStore(String username, String password) {
    LeaseStore store = EtcdLeaseStore.builder(List.of(this.etcd.url()))
        .login(username, password)
        .operationTimeout(TIMEOUT)
        .build();
    this.open.add(0, store);
    return store;
  }

  private void awaitAnswer() {
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> this.store.read(Set.of("none")).isEmpty());
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable closeable : this.open) {
      closeable.close();
    }
    this.etcd.close();
  }

  @Test
  void aRestartIsSurvived() throws Exception {
    long term = lead("billing");
    LeaseRow row = row(this.store, "billing");

    this.etcd.kill();
    assertThatThrownBy(() -> renew("billing", term)).isInstanceOf(LeaseStoreException.class);
    this.etcd.run();
    awaitAnswer();

    assertThat(row(this.store, "billing")).isEqualTo(row);
    assertThat(row.own()).isTrue();
    assertThat(renew("billing", term)).containsExactly("billing");
  }

  @Test
  void aCallToAPausedServerEndsInTimeAndItsLateExecutionGrantsNothing() throws Exception {
    long term = lead("billing");
    this.etcd.send(Signal.STOP);
    long before = System.nanoTime();

    assertThatThrownBy(() -> renew("billing", term))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("has not answered within 2000 ms");

    assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(TIMEOUT.multipliedBy(2));
    this.etcd.send(Signal.CONT);
    awaitAnswer();
    assertThat(renew("billing", term)).containsExactly("billing");
  }

  @Test
  void aRestoredSnapshotIsAnotherClusterThoughItsNamesAreTheSame() throws Exception {
    lead("billing");
    LeaseRow row = row(this.store, "billing");
    Path snapshot = this.etcd.snapshot();

    this.etcd.restore(snapshot);
    awaitAnswer();

    assertThat(this.store.acquire("billing", row, claim("b", Reason.EXPIRED))).isEmpty();
    LeaseRow restored = row(this.store, "billing");
    assertThat(restored.leaderId()).isEqualTo(row.leaderId());
    assertThat(restored.term()).isEqualTo(row.term());
    assertThat(restored).isNotEqualTo(row);
    assertThat(restored.own()).isFalse();
  }

  @Test
  void aFullServerIsReportedAndSurvived() throws Exception {
    long term = lead("billing");
    String megabyte = "x".repeat(100_000);
    assertThatThrownBy(() -> {
          for (int i = 0; i < 1000; i++) {
            this.etcd.ctl("put", "waste", megabyte);
          }
        })
        .hasMessageContaining("database space exceeded");

    assertThatThrownBy(() -> renew("billing", term))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("etcd is full")
        .hasMessageContaining("etcdctl alarm disarm");
    assertThat(row(this.store, "billing").leaderId()).isEqualTo("a");

    Matcher revision =
        Pattern.compile("\"revision\":(\\d+)").matcher(this.etcd.ctl("get", "x", "-w", "json"));
    assertThat(revision.find()).isTrue();
    this.etcd.ctl("compact", revision.group(1));
    this.etcd.ctl("defrag");
    this.etcd.ctl("alarm", "disarm");
    assertThat(renew("billing", term)).containsExactly("billing");
  }

  @Test
  void aTokenThatIsNoLongerValidIsReplaced() throws Exception {
    enableAuthentication();
    LeaseStore store = newStore("root", "secret");
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> store.read(Set.of("billing")).isEmpty());
    LeaseRow created = store.create("billing", claim("a", Reason.CREATED)).orElseThrow();
    long term = store.acquire("billing", created, claim("a", Reason.CREATED)).orElseThrow();

    this.etcd.ctl("--user=root:secret", "auth", "disable");
    this.etcd.ctl("auth", "enable");

    assertThat(store.renew("a", Map.of("billing", term)).renewed()).containsExactly("billing");
    assertThatThrownBy(() -> newStore("root", "wrong").read(Set.of("billing")))
        .hasMessageContaining("refuses the user or its password")
        .hasMessageNotContaining("wrong");
    assertThatThrownBy(() -> this.store.read(Set.of("billing")))
        .hasMessageContaining("refuses the user or its password");
  }

  /** Each login costs the server a slow hash, which nodes with the right password wait for. */
  @ParameterizedTest
  @CsvSource({"root, wrong", "nobody, secret", "passwordless, secret"})
  void aRefusedLoginIsNotRepeatedByAnyConnection(String username, String password) {
    this.etcd.ctl("user", "add", "passwordless", "--no-password");
    enableAuthentication();
    AtomicLong nanos = new AtomicLong();
    EtcdChannels channels = channels(username, password, nanos::get);
    EtcdServer server = new EtcdServer(channels, "/election/", PATIENCE);
    EtcdServer another = new EtcdServer(channels.another(), "/election/", PATIENCE);
    this.open.add(0, another);
    assertIsRefused(server);
    nanos.addAndGet(Duration.ofMillis(29_999).toNanos());
    for (int i = 0; i < 10; i++) {
      assertIsRefused(server);
      assertIsRefused(another);
    }
    assertThat(logins()).isEqualTo(1);

    nanos.addAndGet(Duration.ofSeconds(15).toNanos());
    assertIsRefused(another);
    assertIsRefused(server);
    assertThat(logins()).isEqualTo(2);
  }

  @Test
  void aWatchThatIsDeniedDoesNotLogInAllTheTime() {
    this.etcd.ctl("user", "add", "stranger:secret");
    enableAuthentication();
    EtcdChannels channels = channels("stranger", "secret", System::nanoTime);
    this.open.add(0, new EtcdServer(channels, "/election/", PATIENCE).watch((change) -> {}));
    Awaitility.await().until(() -> logins() > 0);
    Awaitility.await().during(Duration.ofSeconds(3)).until(() -> logins() == 1);
  }

  private static void assertIsRefused(EtcdServer server) {
    server.begin();
    assertThatThrownBy(() -> server.logIndex().await())
        .hasMessageContaining("refuses the user or its password");
  }

  /** A server that was slow for a moment would be even slower if all its clients logged in. */
  @Test
  void aTokenOutlivesATimeout() throws Exception {
    enableAuthentication();
    EtcdChannels channels = channels("root", "secret", System::nanoTime);
    EtcdServer patient = new EtcdServer(channels, "/election/", PATIENCE);
    EtcdServer hasty = new EtcdServer(channels, "/election/", TIMEOUT);
    patient.begin();
    patient.logIndex().await();
    for (int i = 0; i < 2; i++) {
      this.etcd.send(Signal.STOP);
      hasty.begin();
      assertThatThrownBy(() -> hasty.logIndex().await())
          .hasMessageContaining("has not answered within");
      this.etcd.send(Signal.CONT);
      patient.begin();
      patient.logIndex().await();
    }
    assertThat(logins()).isEqualTo(1);
  }

  private void enableAuthentication() {
    this.etcd.ctl("user", "add", "root:secret");
    this.etcd.ctl("user", "grant-role", "root", "root");
    this.etcd.ctl("auth", "enable");
  }

  private EtcdChannels channels(String username, String password, LongSupplier ticker) {
    EtcdChannels channels = this.etcd.channels(new EtcdLogin(username, password, ticker));
    this.open.add(0, channels::drop);
    return channels;
  }

  /** How often clients have sent a password. */
  private long logins() {
    return this.etcd.metric("grpc_server_started_total\\{grpc_method=\"Authenticate\",[^}]*\\}");
  }

  @Test
  void theNextEndpointIsTriedAfterAFailure() throws Exception {
    long term = lead("billing");
    LeaseStore store = EtcdLeaseStore.builder(List.of("http://127.0.0.1:1", this.etcd.url()))
        .operationTimeout(TIMEOUT)
        .build();
    this.open.add(0, store);

    assertThatThrownBy(() -> store.read(Set.of("billing")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("127.0.0.1:1, 127.0.0.1:" + this.etcd.port());

    assertThat(row(store, "billing").term()).isEqualTo(term);
  }

  @Test
  void encryptionToAPlainPortIsExplained() {
    LeaseStore store = EtcdLeaseStore.builder(List.of(this.etcd.url().replace("http:", "https:")))
        .operationTimeout(TIMEOUT)
        .build();
    this.open.add(0, store);

    assertThatThrownBy(() -> store.read(Set.of("billing")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("http or https");
  }

  @Test
  void aUserWithoutRightsIsToldWhichAreMissing() throws Exception {
    this.etcd.ctl("user", "add", "root:secret");
    this.etcd.ctl("user", "grant-role", "root", "root");
    this.etcd.ctl("user", "add", "app:secret");
    this.etcd.ctl("auth", "enable");
    LeaseStore store = newStore("app", "secret");

    Awaitility.await()
        .untilAsserted(() -> assertThatThrownBy(() -> store.read(Set.of("billing")))
            .hasMessageContaining("grant-permission ROLE --prefix=true readwrite /election/"));
  }

  @Test
  void aHandBackWakesAFollowerAlsoAfterTheServerWasRestarted() throws Exception {
    LeaseStore follower = newStore("", "");
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch all = new CountDownLatch(1);
    LeaseStore.Watch watch = follower.watch("b", () -> {
      if (first.getCount() > 0) {
        first.countDown();
      } else {
        all.countDown();
      }
    });
    this.open.add(0, watch);
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> follower.read(Set.of("billing")).isEmpty());
    Awaitility.await().until(() -> {
      this.etcd.ctl("put", "/election/billing", "a");
      return first.await(100, TimeUnit.MILLISECONDS);
    });

    this.etcd.kill();
    this.etcd.run();

    Awaitility.await().until(() -> {
      this.etcd.ctl("put", "/election/billing", "b");
      return all.await(100, TimeUnit.MILLISECONDS);
    });
  }

  /** Prints what a renewal costs. A day has 43200 at the default interval: {@code -Drenewals=43200}. */
  @ParameterizedTest
  @ValueSource(ints = {1, 50, 500})
  @Tag("long")
  void aRenewalIsOneSmallRequest(int elections) throws Exception {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < elections; i++) {
      terms.put("service-" + i, lead("service-" + i));
    }
    assertThat(this.store.renew("a", terms).renewed()).hasSize(elections);
    int renewals = Integer.getInteger("renewals", 1000);
    long bytes = databaseBytes();
    long folder = bytesIn(this.etcd.data());
    long received = this.etcd.metric("etcd_network_client_grpc_received_bytes_total");
    long requests = this.etcd.requests();

    for (int i = 0; i < renewals; i++) {
      assertThat(this.store.renew("a", terms).renewed()).hasSize(elections);
    }

    requests = this.etcd.requests() - requests;
    long sent =
        (this.etcd.metric("etcd_network_client_grpc_received_bytes_total") - received) / renewals;
    long grown = (databaseBytes() - bytes) / renewals;
    System.out.printf(
        "A renewal of %d elections: %.3f requests, %d bytes sent, %d bytes of database (%.1f MB a day at 2 s)%n",
        elections, requests / (double) renewals, sent, grown, grown * 43200 / 1e6);
    System.out.printf(
        "%d renewals of %d elections: the database grows by %.1f MB, the data folder by %.1f MB to %.1f MB%n",
        renewals,
        elections,
        (databaseBytes() - bytes) / 1e6,
        (bytesIn(this.etcd.data()) - folder) / 1e6,
        bytesIn(this.etcd.data()) / 1e6);
    assertThat(requests).isEqualTo(renewals);
    assertThat(grown * 43200).isLessThan(8_000_000);
  }

  /**
   * Prints what a follower asks. A history is read once after a change of leader, by one request for
   * each hundred elections, since etcd limits the operations of a transaction.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 50, 500})
  @Tag("long")
  void aFollowersPollIsOneRequest(int elections) throws Exception {
    Set<String> services = new HashSet<>();
    for (int i = 0; i < elections; i++) {
      services.add("service-" + i);
      lead("service-" + i);
    }
    LeaseStore follower = newStore("", "");
    ElectionDirectory directory = (ElectionDirectory) follower;
    assertThat(follower.read(services)).hasSize(elections);
    long begun = this.etcd.requests();
    assertThat(follower.read(services)).hasSize(elections);
    long polled = this.etcd.requests();
    directory.members(services);
    long membersRead = this.etcd.requests();
    assertThat(directory.history(services)).hasSize(elections);
    long historyRead = this.etcd.requests();

    System.out.printf(
        "A follower of %d elections: %d requests a poll, %d to read the members, %d to read the history%n",
        elections, polled - begun, membersRead - polled, historyRead - membersRead);
    assertThat(polled - begun).isEqualTo(1);
    assertThat(membersRead - polled).isEqualTo(1);
    assertThat(historyRead - membersRead).isEqualTo((elections + 99) / 100);
  }

  /** Prints what it costs to stay a candidate. */
  @ParameterizedTest
  @ValueSource(ints = {1, 500})
  @Tag("long")
  void anAnnouncementIsOneSmallRequest(int elections) throws Exception {
    Set<String> services = new HashSet<>();
    for (int i = 0; i < elections; i++) {
      services.add("service-" + i);
    }
    Announcement self = new Announcement(
        "a", services, Set.of(), true, Duration.ofSeconds(10), "1.0", "etcd", Map.of(), "");
    ElectionDirectory directory = (ElectionDirectory) this.store;
    directory.announce(self);
    int announcements = 1000;
    long bytes = databaseBytes();
    long requests = this.etcd.requests();

    for (int i = 0; i < announcements; i++) {
      directory.announce(self);
    }

    requests = this.etcd.requests() - requests;
    long grown = (databaseBytes() - bytes) / announcements;
    System.out.printf(
        "An announcement for %d elections: %.3f requests, %d bytes of database (%.2f MB a day at 20 s)%n",
        elections, requests / (double) announcements, grown, grown * 4320 / 1e6);
    assertThat(requests).isEqualTo(announcements);
    assertThat(grown * 4320).isLessThan(1_000_000);
  }

  private static long bytesIn(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .map(Path::toFile)
          .filter(File::isFile)
          .mapToLong(File::length)
          .sum();
    }
  }

  private long databaseBytes() {
    this.etcd.ctl("put", "any", "thing");
    return Awaitility.await()
        .pollDelay(Duration.ofMillis(300))
        .until(
            () -> this.etcd.metric("etcd_mvcc_db_total_size_in_use_in_bytes"), (size) -> size > 0);
  }

  private static Claim claim(String nodeId, Reason reason) {
    return new Claim(nodeId, 10_000, 0, reason);
  }

  private long lead(String serviceId) throws LeaseStoreException {
    LeaseRow created = this.store.create(serviceId, claim("a", Reason.CREATED)).orElseThrow();
    return this.store.acquire(serviceId, created, claim("a", Reason.CREATED)).orElseThrow();
  }

  private Set<String> renew(String serviceId, long term) throws LeaseStoreException {
    return this.store.renew("a", Map.of(serviceId, term)).renewed();
  }

  private static LeaseRow row(LeaseStore store, String serviceId) throws LeaseStoreException {
    return Objects.requireNonNull(store.read(Set.of(serviceId)).get(serviceId)).row();
  }
}
