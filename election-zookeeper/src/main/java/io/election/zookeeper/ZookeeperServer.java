package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.keyvalue.KeyValueServer;
import io.election.store.LeaseStoreException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.function.Consumer;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ZooKeeper as a server of versioned keys: each key is a persistent node below the root, and each
 * request a {@code multi}.
 */
final class ZookeeperServer implements KeyValueServer {

  private static final Logger log = LoggerFactory.getLogger(ZookeeperServer.class);

  /** Written before a fresh read, because {@code sync} does not ask the quorum. */
  private static final String CLOCK = "~clock";

  /** The upper half of the number of a write is the epoch of the leader that ordered it. */
  private static final int EPOCH = 32;

  private static final byte[] EMPTY = {};

  private final ZookeeperConnection connection;
  private final ZookeeperSession session;
  private final Set<NodeWatch> watches = new CopyOnWriteArraySet<>();

  /** The keys that were found below others last, which the next request reads at once. */
  private final Map<Folder, List<String>> found = new HashMap<>();

  private boolean warned;

  ZookeeperServer(ZookeeperConnection connection) {
    this.connection = connection;
    this.session = new ZookeeperSession(connection, this::opened, System::nanoTime);
  }

  private void opened(ZooKeeper client) {
    if (!this.warned && this.connection.isOpenToAll()) {
      this.warned = true;
      log.warn(
          "Every client of ZooKeeper can change the leaders: the nodes below {} are created without access control, because no credentials are set",
          this.connection.root());
    }
    this.watches.forEach((watch) -> watch.listen(client));
  }

  @Override
  public void begin() {
    this.session.begin();
  }

  @Override
  public String name() {
    return "zookeeper";
  }

  @Override
  public boolean reusesVersions() {
    return true;
  }

  @Override
  public Snapshot read(Query query) throws LeaseStoreException {
    long revision = query.fresh() ? tick() : 0;
    Set<String> keys = new LinkedHashSet<>(query.keys());
    query.folders().forEach((folder) -> keys.addAll(this.found.getOrDefault(folder, List.of())));
    Map<String, Entry> entries = new HashMap<>();
    this.found.putAll(read(keys, query.folders(), entries));
    Set<String> wanted = new HashSet<>(query.keys());
    query.folders().forEach((folder) -> wanted.addAll(this.found.getOrDefault(folder, List.of())));
    Set<String> others = new LinkedHashSet<>(wanted);
    others.removeAll(keys);
    if (!others.isEmpty()) {
      read(others, Set.of(), entries);
    }
    entries.keySet().retainAll(wanted);
    for (Entry entry : entries.values()) {
      revision = Math.max(revision, entry.version().written());
    }
    return new Snapshot(entries, "", revision, revision >>> EPOCH);
  }

  /** Reads keys by one request; returns the keys below others. */
  private Map<Folder, List<String>> read(
      Set<String> keys, Set<Folder> folders, Map<String, Entry> entries)
      throws LeaseStoreException {
    List<Op> operations = new ArrayList<>();
    keys.forEach((key) -> operations.add(Op.getData(path(key))));
    folders.forEach((folder) -> operations.add(Op.getChildren(path(folder.parent()))));
    List<OpResult> results = this.session.multi("Reading", operations);
    for (int i = 0; i < results.size(); i++) {
      if (code(results.get(i)) != Code.OK && code(results.get(i)) != Code.NONODE) {
        throw refused("Reading", results.get(i), operations.get(i));
      }
    }
    int next = 0;
    for (String key : keys) {
      if (results.get(next++) instanceof OpResult.GetDataResult result) {
        entries.put(key, entry(result));
      }
    }
    Map<Folder, List<String>> children = new LinkedHashMap<>();
    for (Folder folder : folders) {
      List<String> names = results.get(next++) instanceof OpResult.GetChildrenResult result
          ? result.getChildren()
          : List.of();
      children.put(
          folder,
          names.stream()
              .sorted(Comparator.reverseOrder())
              .limit(folder.newest())
              .map((name) -> folder.parent() + "/" + name)
              .toList());
    }
    return children;
  }

  private static Entry entry(OpResult.GetDataResult result) {
    byte[] data = result.getData();
    Stat stat = result.getStat();
    return new Entry(
        data != null ? new String(data, UTF_8) : "", version(stat), stat.getEphemeralOwner() != 0);
  }

  private static Version version(Stat stat) {
    return new Version(stat.getVersion(), stat.getMzxid());
  }

  /** Writes, so that the quorum agrees; returns the number of this write. */
  private long tick() throws LeaseStoreException {
    List<Op> write = List.of(Op.setData(path(CLOCK), EMPTY, -1));
    List<OpResult> results = this.session.multi("Reading", write);
    if (code(results.get(0)) == Code.NONODE) {
      create(CLOCK);
      results = this.session.multi("Reading", write);
    }
    if (results.get(0) instanceof OpResult.SetDataResult result) {
      return result.getStat().getMzxid();
    }
    throw refused("Reading", results.get(0), write.get(0));
  }

  @Override
  public Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException {
    List<Op> operations = new ArrayList<>();
    commit
        .checks()
        .forEach((key, version) -> operations.add(Op.check(path(key), (int) version.number())));
    Map<Integer, String> written = new HashMap<>();
    for (Write write : commit.writes()) {
      String path = path(write.key());
      if (write instanceof Create create) {
        operations.add(Op.create(path, EMPTY, this.connection.acl(), CreateMode.PERSISTENT));
        written.put(operations.size(), write.key());
        operations.add(Op.setData(path, create.value().getBytes(UTF_8), 0));
      } else if (write instanceof Put put) {
        written.put(operations.size(), write.key());
        operations.add(
            Op.setData(path, put.value().getBytes(UTF_8), (int) put.version().number()));
      } else if (write instanceof Delete delete) {
        operations.add(Op.delete(path, (int) delete.version().number()));
      }
    }
    List<OpResult> results = this.session.multi("Writing", operations);
    int failed = failed(results);
    if (failed >= 0
        && code(results.get(failed)) == Code.NONODE
        && operations.get(failed).getType() == ZooDefs.OpCode.create) {
      for (Write write : commit.writes()) {
        createParents(write.key());
      }
      results = this.session.multi("Writing", operations);
      failed = failed(results);
    }
    if (failed >= 0) {
      return switch (code(results.get(failed))) {
        case NONODE, NODEEXISTS, BADVERSION -> Optional.empty();
        default -> throw refused("Writing", results.get(failed), operations.get(failed));
      };
    }
    Map<String, Version> versions = new HashMap<>();
    for (Map.Entry<Integer, String> write : written.entrySet()) {
      Stat stat = ((OpResult.SetDataResult) results.get(write.getKey())).getStat();
      if (stat.getEphemeralOwner() != 0) {
        // It replaced our node, and happens to have the same version.
        throw new LeaseStoreException(path(write.getValue())
            + " is now an ephemeral node of another tool, which leads by it.");
      }
      versions.put(write.getValue(), version(stat));
    }
    return Optional.of(versions);
  }

  /** Returns the index of the operation because of which no operation was executed. */
  private static int failed(List<OpResult> results) {
    for (int i = 0; i < results.size(); i++) {
      Code code = code(results.get(i));
      if (code != Code.OK && code != Code.RUNTIMEINCONSISTENCY) {
        return i;
      }
    }
    return -1;
  }

  private static Code code(OpResult result) {
    return result instanceof OpResult.ErrorResult error ? Code.get(error.getErr()) : Code.OK;
  }

  private static LeaseStoreException refused(String what, OpResult result, Op operation) {
    String problem =
        "%s was refused by ZooKeeper at %s: %s".formatted(what, operation.getPath(), code(result));
    return new LeaseStoreException(
        code(result) == Code.NOAUTH
            ? problem + ". Give the user of this node all rights to it, or correct the user"
            : problem);
  }

  private void createParents(String key) throws LeaseStoreException {
    for (int end = key.indexOf('/'); end >= 0; end = key.indexOf('/', end + 1)) {
      create(key.substring(0, end));
    }
  }

  /**
   * Creates a node below the root, and those of its parents that are missing. For a parent that
   * exists and to which this user may not write, ZooKeeper returns the same error as for a missing
   * one; the creation of the next node shows whether it exists.
   */
  private void create(String key) throws LeaseStoreException {
    String path = path(key);
    LeaseStoreException refusal = new LeaseStoreException(path + " was deleted meanwhile.");
    int end = 0;
    Code code;
    do {
      end = path.indexOf('/', end + 1);
      String node = end > 0 ? path.substring(0, end) : path;
      Op create = Op.create(node, EMPTY, this.connection.acl(), CreateMode.PERSISTENT);
      OpResult result = this.session.multi("Creating " + node, List.of(create)).get(0);
      code = code(result);
      if (code != Code.OK && code != Code.NODEEXISTS && code != Code.NONODE) {
        refusal = refused("Creating a node", result, create);
      }
    } while (end > 0);
    if (code != Code.OK && code != Code.NODEEXISTS) {
      throw refusal;
    }
  }

  private String path(String key) {
    return this.connection.root() + "/" + key;
  }

  @Override
  public Watch watch(Consumer<Change> changed) {
    NodeWatch watch = new NodeWatch(changed);
    this.watches.add(watch);
    return watch;
  }

  @Override
  public void close() {
    this.session.close();
  }

  private static Change change(String key, WatchedEvent event) {
    Change.Kind kind = switch (event.getType()) {
      case NodeDeleted -> Change.Kind.DELETED;
      case NodeChildrenChanged -> Change.Kind.BELOW;
      default -> Change.Kind.WRITTEN;
    };
    return new Change(key, kind, null, Change.UNKNOWN);
  }

  /** Watches nodes, in each session again. Does not wait for ZooKeeper. */
  private final class NodeWatch implements Watch {

    private final Consumer<Change> changed;
    private volatile Set<String> keys = Set.of();

    NodeWatch(Consumer<Change> changed) {
      this.changed = changed;
    }

    @Override
    public void follow(Set<String> keys) {
      Set<String> added = new HashSet<>(keys);
      added.removeAll(this.keys);
      this.keys = Set.copyOf(keys);
      ZooKeeper client = ZookeeperServer.this.session.client();
      if (client != null) {
        listen(client, added);
      }
    }

    void listen(ZooKeeper client) {
      listen(client, this.keys);
    }

    /** A key that is not followed any more stays watched until the session ends. */
    private void listen(ZooKeeper client, Set<String> keys) {
      for (String key : keys) {
        client.addWatch(
            path(key),
            (event) -> {
              if (event.getPath() != null && this.keys.contains(key)) {
                this.changed.accept(change(key, event));
              }
            },
            AddWatchMode.PERSISTENT,
            (rc, path, context) -> {},
            null);
      }
    }

    @Override
    public void close() {
      this.keys = Set.of();
      ZookeeperServer.this.watches.remove(this);
    }
  }
}
