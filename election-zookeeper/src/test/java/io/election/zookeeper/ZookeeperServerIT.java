package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.keyvalue.ConditionalWrites;
import io.election.keyvalue.KeyValueServer.Change;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Delete;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Folder;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Watch;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Versioned keys as nodes of a real server. */
class ZookeeperServerIT {

  private static final String ROOT = "/soa/master/services";

  private static final Zookeeper zookeeper = Zookeeper.shared();

  /** One connection of the operator, because the client takes 100 ms to close one. */
  private static final ZooKeeper hand = zookeeper.connect();

  private final ZookeeperServer server = server(zookeeper.connectString());

  @BeforeEach
  void createRoot() throws Exception {
    Zookeeper.awaitConnected(hand);
    Zookeeper.deleteAll(hand, "/soa");
    this.server.begin();
    read("a", true);
  }

  @AfterEach
  void close() {
    this.server.close();
  }

  private static ZookeeperServer server(String address) {
    return new ZookeeperServer(new ZookeeperConnection(
        List.of(address), ROOT, null, OPEN_ACL_UNSAFE, Map.of(), Duration.ofSeconds(20)));
  }

  private Map<String, Version> commit(Write... writes) throws LeaseStoreException {
    return this.server.commit(new Commit(Map.of(), List.of(writes), 0)).orElseThrow();
  }

  private Snapshot read(String key, boolean fresh) throws LeaseStoreException {
    return this.server.read(new Query(Set.of(key), Set.of(), fresh));
  }

  private static Stat stat(String key) throws Exception {
    return hand.exists(ROOT + "/" + key, false);
  }

  private static void put(String key) throws Exception {
    hand.setData(ROOT + "/" + key, "by hand".getBytes(UTF_8), -1);
  }

  private static void create(String key, String value, CreateMode mode) throws Exception {
    byte[] data = value != null ? value.getBytes(UTF_8) : null;
    hand.create(ROOT + "/" + key, data, OPEN_ACL_UNSAFE, mode);
  }

  @Test
  void aWriteHappensOnlyIfItsKeyIsAsExpected() throws Exception {
    ConditionalWrites.areRefused(this.server);
  }

  @Test
  void aCommitTellsTheVersionsThatAReadShows() throws Exception {
    Map<String, Version> created = commit(new Create("a", "1"), new Create("~b/c/d", "2"));
    assertThat(created).containsOnlyKeys("a", "~b/c/d");
    assertThat(read("a", false).entries().get("a"))
        .isEqualTo(new Entry("1", created.get("a"), false));
    assertThat(read("~b/c/d", false).entries().get("~b/c/d"))
        .isEqualTo(new Entry("2", created.get("~b/c/d"), false));

    Map<String, Version> put = commit(new Put("a", "3", created.get("a")));
    assertThat(put)
        .containsExactly(
            Map.entry("a", new Version(stat("a").getVersion(), stat("a").getMzxid())));
    assertThat(put.get("a")).isNotEqualTo(created.get("a"));
  }

  @Test
  void aVersionComesBackWhenItsKeyDoes() throws Exception {
    Version first = commit(new Create("a", "1")).get("a");
    commit(new Delete("a", first));
    Version again = commit(new Create("a", "1")).get("a");

    assertThat(again.number()).isEqualTo(first.number());
    assertThat(again.written()).isGreaterThan(first.written());
    assertThat(this.server.reusesVersions()).isTrue();
    assertThat(this.server.name()).isEqualTo("zookeeper");
  }

  @Test
  void theRevisionIsNotBeforeWhatWasReadAndOfAFreshReadingNotBeforeAnyWrite() throws Exception {
    commit(new Create("a", "1"), new Create("b", "1"));
    put("a");
    put("b");

    assertThat(read("a", false).revision()).isEqualTo(stat("a").getMzxid());
    Snapshot fresh = read("a", true);
    assertThat(fresh.revision()).isGreaterThan(stat("b").getMzxid());
    assertThat(fresh.epoch()).isEqualTo(fresh.revision() >>> 32);
  }

  @Test
  void theNewestKeysBelowAnotherAreRead() throws Exception {
    Query query = new Query(Set.of("x"), Set.of(new Folder("~f", 2), new Folder("~g", 2)), false);
    assertThat(this.server.read(query).entries()).isEmpty();
    for (String key : List.of("x", "~f/1", "~f/3", "~f/2")) {
      commit(new Create(key, key));
    }
    assertThat(this.server.read(query).entries()).containsOnlyKeys("x", "~f/3", "~f/2");
    commit(new Create("~f/4", "4"), new Create("~g/1", "1"));
    long requests = zookeeper.requests();
    assertThat(this.server.read(query).entries()).containsOnlyKeys("x", "~f/4", "~f/3", "~g/1");
    assertThat(this.server.read(query).entries()).containsOnlyKeys("x", "~f/4", "~f/3", "~g/1");
    // What is known is not asked for twice: of two readings, one needs a second request.
    assertThat(zookeeper.requests() - requests).isEqualTo(3 + 1);
  }

  @Test
  void aNodeWithoutDataIsEmpty() throws Exception {
    commit(new Create("a", "1"));
    create("b", null, CreateMode.PERSISTENT);

    assertThat(read("b", false).entries().get("b").value()).isEmpty();
  }

  @Test
  void aNodeOfASessionIsForeignAndIsNotTakenForOurs() throws Exception {
    commit(new Create("a", "1"), new Create("b", "1"));
    hand.delete(ROOT + "/a", -1);
    create("a", "theirs", CreateMode.EPHEMERAL);

    Entry entry = read("a", true).entries().get("a");
    assertThat(entry.foreign()).isTrue();
    assertThatThrownBy(() -> commit(new Put("a", "2", entry.version())))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining(ROOT + "/a is now an ephemeral node of another tool");
  }

  @Test
  void changesOfTheKeysThatAreFollowedAreReportedInEachSession() throws Exception {
    BlockingQueue<Change> changes = new LinkedBlockingQueue<>();
    commit(new Create("a", "1"), new Create("b", "1"));
    this.server.close();
    Watch watch = this.server.watch(changes::add);
    watch.follow(Set.of("a"));
    assertThat(read("a", false).entries()).hasSize(1);
    put("b");
    put("a");
    assertThat(next(changes)).isEqualTo(change("a", Change.Kind.WRITTEN));
    watch.follow(Set.of("b"));
    read("b", false);
    put("a");
    create("b/c", "", CreateMode.PERSISTENT);
    assertThat(next(changes)).isEqualTo(change("b", Change.Kind.BELOW));

    this.server.close();
    read("b", false);
    put("a");
    Zookeeper.deleteAll(hand, ROOT + "/b");
    assertThat(Stream.of(next(changes), next(changes)))
        .containsExactly(change("b", Change.Kind.BELOW), change("b", Change.Kind.DELETED));
    watch.close();
    create("b", "", CreateMode.PERSISTENT);
    Watch next = this.server.watch(changes::add);
    next.follow(Set.of("a"));
    read("b", false);
    put("a");
    assertThat(next(changes)).isEqualTo(change("a", Change.Kind.WRITTEN));
    next.close();
  }

  private static Change next(BlockingQueue<Change> changes) throws InterruptedException {
    return changes.poll(Integer.getInteger("await.seconds", 10), TimeUnit.SECONDS);
  }

  private static Change change(String key, Change.Kind kind) {
    return new Change(key, kind, null, Change.UNKNOWN);
  }
}
