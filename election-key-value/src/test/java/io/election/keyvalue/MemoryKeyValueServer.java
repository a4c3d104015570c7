package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseStoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;

/** Versioned keys in memory, with the versions of etcd or of ZooKeeper. */
final class MemoryKeyValueServer implements KeyValueServer {

  /** The keys, which several connections share. */
  static final class Cluster implements KeyValueEdits.Hand {

    final TreeMap<String, Entry> entries = new TreeMap<>();
    final List<Consumer<Change>> watches = new CopyOnWriteArrayList<>();
    final List<Commit> commits = new ArrayList<>();
    final List<Query> queries = new ArrayList<>();
    String identity = "memory";
    long revision = 1000;

    /** How often a connection has asked how long the log is. */
    int logsAsked;

    /** By how many the entries of the log exceed the writes. */
    long surplus = 3;

    boolean reusesVersions;

    /** Holds requests up, once there is one; {@code null} if they are executed. */
    List<Commit> held;

    /** Is done once, between the next read for a commit and that commit. */
    Runnable interruption;

    @Override
    public synchronized void put(String key, String value) {
      write(key, value, false);
    }

    @Override
    public synchronized void delete(String key) {
      this.revision++;
      remove(key);
    }

    /** What a snapshot shows. */
    record State(TreeMap<String, Entry> entries, long revision) {}

    synchronized State state() {
      return new State(new TreeMap<>(this.entries), this.revision);
    }

    /**
     * Goes back to a state: like etcd, which continues the revisions and begins a log, or like an
     * ensemble of ZooKeeper, which begins an epoch.
     */
    synchronized void restore(State state) {
      this.entries.clear();
      this.entries.putAll(state.entries());
      this.revision = state.revision();
      chooseLeader();
      if (!this.reusesVersions) {
        this.surplus = 4 - this.revision;
      }
    }

    /** The servers of an ensemble of ZooKeeper choose their leader, and so begin an epoch. */
    synchronized void chooseLeader() {
      if (this.reusesVersions) {
        this.revision = ((this.revision >>> 32) + 1) << 32;
      }
    }

    private long epoch(long revision) {
      return this.reusesVersions ? revision >>> 32 : 2;
    }

    synchronized Optional<String> value(String key) {
      return Optional.ofNullable(this.entries.get(key)).map(Entry::value);
    }

    @Override
    public String get(String key) {
      return value(key).orElseThrow();
    }

    synchronized int requests() {
      return this.queries.size() + this.commits.size();
    }

    @Override
    public synchronized Map<String, String> below(String parent) {
      Map<String, String> values = new TreeMap<>();
      below(this.entries, parent).forEach((key, entry) -> values.put(key, entry.value()));
      return values;
    }

    synchronized Snapshot read(Query query) {
      this.queries.add(query);
      return read(query, new State(this.entries, this.revision));
    }

    /** Reads what a server knows that has not heard of later writes. */
    synchronized Snapshot read(Query query, State state) {
      Map<String, Entry> found = new HashMap<>();
      for (String key : query.keys()) {
        Entry entry = state.entries().get(key);
        if (entry != null) {
          found.put(key, entry);
        }
      }
      for (Folder folder : query.folders()) {
        below(state.entries(), folder.parent()).descendingMap().entrySet().stream()
            .limit(folder.newest())
            .forEach((entry) -> found.put(entry.getKey(), entry.getValue()));
      }
      return new Snapshot(found, this.identity, state.revision(), epoch(state.revision()));
    }

    private static NavigableMap<String, Entry> below(
        NavigableMap<String, Entry> entries, String parent) {
      // The character after the separator.
      return entries.subMap(parent + "/", false, parent + "0", false);
    }

    synchronized Optional<Map<String, Version>> commit(Commit commit) {
      this.commits.add(commit);
      Set<String> keys = new HashSet<>(commit.checks().keySet());
      assertThat(commit.writes()).as("no key twice").allMatch((write) -> keys.add(write.key()));
      boolean met = commit.checks().entrySet().stream()
              .allMatch((check) -> is(check.getKey(), check.getValue()))
          && commit.writes().stream().allMatch(this::isMet);
      if (!met) {
        return Optional.empty();
      }
      this.revision++;
      Map<String, Version> versions = new HashMap<>();
      for (Write write : commit.writes()) {
        if (write instanceof Create create) {
          versions.put(create.key(), write(create.key(), create.value(), true));
        } else if (write instanceof Put put) {
          versions.put(put.key(), write(put.key(), put.value(), true));
        } else {
          remove(write.key());
        }
      }
      return Optional.of(versions);
    }

    private boolean isMet(Write write) {
      if (write instanceof Put put) {
        return is(put.key(), put.version());
      }
      if (write instanceof Delete delete) {
        return is(delete.key(), delete.version());
      }
      return !this.entries.containsKey(write.key());
    }

    private boolean is(String key, Version version) {
      Entry entry = this.entries.get(key);
      return entry != null && entry.version().number() == version.number();
    }

    private Version write(String key, String value, boolean inCommit) {
      if (!inCommit) {
        this.revision++;
      }
      Entry before = this.entries.get(key);
      long number = this.revision;
      if (this.reusesVersions) {
        number = before != null ? before.version().number() + 1 : 0;
      }
      Version version = new Version(number, this.revision);
      this.entries.put(key, new Entry(value, version, false));
      if (before == null) {
        changedBelow(key);
      }
      changed(key, Change.Kind.WRITTEN, value);
      return version;
    }

    private void remove(String key) {
      if (this.entries.remove(key) != null) {
        changedBelow(key);
        changed(key, Change.Kind.DELETED, null);
      }
    }

    /** ZooKeeper shows what happens below a node, and etcd shows values. */
    private void changedBelow(String key) {
      if (this.reusesVersions && key.indexOf('/') >= 0) {
        changed(key.substring(0, key.lastIndexOf('/')), Change.Kind.BELOW, null);
      }
    }

    private void changed(String key, Change.Kind kind, String value) {
      Change change = this.reusesVersions
          ? new Change(key, kind, null, Change.UNKNOWN)
          : new Change(key, kind, value, this.revision);
      this.watches.forEach((watch) -> watch.accept(change));
    }
  }

  /** Whether it says that its versions come back, if they do. */
  boolean tellsOfReuse = true;

  /** How many calls have begun. */
  int begun;

  boolean closed;

  private final Cluster cluster;
  private final Function<Commit, Optional<Map<String, Version>>> committer;
  private final Function<Query, Snapshot> reader;

  MemoryKeyValueServer(Cluster cluster) {
    this(cluster, cluster::commit, cluster::read);
  }

  MemoryKeyValueServer(
      Cluster cluster,
      Function<Commit, Optional<Map<String, Version>>> committer,
      Function<Query, Snapshot> reader) {
    this.cluster = cluster;
    this.committer = committer;
    this.reader = reader;
  }

  @Override
  public String name() {
    return "memory-keys";
  }

  @Override
  public boolean reusesVersions() {
    return this.cluster.reusesVersions && this.tellsOfReuse;
  }

  @Override
  public Answer<OptionalLong> logIndex() {
    this.cluster.logsAsked++;
    OptionalLong now = this.cluster.reusesVersions
        ? OptionalLong.empty()
        : OptionalLong.of(this.cluster.revision + this.cluster.surplus);
    return () -> now;
  }

  @Override
  public void begin() {
    this.begun++;
  }

  @Override
  public Snapshot read(Query query) throws LeaseStoreException {
    return this.reader.apply(query);
  }

  @Override
  public Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException {
    Runnable interruption = this.cluster.interruption;
    if (interruption != null) {
      this.cluster.interruption = null;
      interruption.run();
    }
    boolean mark = commit.writes().size() == 1 && commit.writes().get(0) instanceof Create;
    if (this.cluster.held != null && !mark) {
      this.cluster.held.add(commit);
      throw new LeaseStoreException("no answer");
    }
    return this.committer.apply(commit);
  }

  @Override
  public Watch watch(Consumer<Change> changed) {
    Set<String> followed = ConcurrentHashMap.newKeySet();
    Consumer<Change> watch = (change) -> {
      if (followed.contains(change.key())) {
        changed.accept(change);
      }
    };
    this.cluster.watches.add(watch);
    return new Watch() {
      @Override
      public void follow(Set<String> keys) {
        followed.addAll(keys);
      }

      @Override
      public void close() {
        MemoryKeyValueServer.this.cluster.watches.remove(watch);
      }
    };
  }

  @Override
  public void close() {
    this.closed = true;
  }
}
