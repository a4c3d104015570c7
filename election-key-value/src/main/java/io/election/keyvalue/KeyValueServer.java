package io.election.keyvalue;

import io.election.store.LeaseStoreException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A server, or a cluster of them, that keeps versioned keys and changes several of them at once:
 * everything that the lease store of this package needs from etcd or ZooKeeper.
 *
 * <p>A key is a path of one or more segments, separated by {@code /}. A segment is not empty, is
 * not {@code .} or {@code ..}, and consists of letters and digits of any script in the basic plane,
 * and of {@code - _ . : % ~}. Keys that begin with {@code ~} are for this library. A key of one
 * segment that does not is the record of an election. Keys that are the parents of others are never
 * read or written themselves; the server creates them if it needs them. Values are UTF-8.
 *
 * <p>Each {@linkplain #begin() operation} ends within the operation time-out. If its outcome is
 * unknown, it throws {@link LeaseStoreException}: a commit may have been executed, may not have
 * been executed, and may still be executed later. No call is repeated. One thread at a time calls
 * these methods; a watch has threads of its own. Sessions, server-side leases and answered pings
 * decide nothing.
 */
public interface KeyValueServer extends AutoCloseable {

  /**
   * Returns the store's name in log lines, for instance {@code etcd}.
   *
   * @return the name
   */
  String name();

  /**
   * Begins an operation of the store: the calls from now on, until the next operation, end together
   * within the operation time-out.
   */
  void begin();

  /**
   * Reads keys with one request, or as few as the server can.
   *
   * @param query what to read
   * @return what was found
   * @throws LeaseStoreException if it could not be read
   */
  Snapshot read(Query query) throws LeaseStoreException;

  /**
   * Executes a commit atomically. The quorum must agree.
   *
   * @param commit checks and writes
   * @return the versions of the keys that were created or put, as {@link #read} shows them until
   *     the next write; empty if a check failed, or a written key was not as expected, and
   *     nothing was changed. (A server that does not return the version of a created key creates
   *     and sets it within the same transaction.)
   * @throws LeaseStoreException if the outcome is unknown, or the server refused the request
   */
  Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException;

  /**
   * Reports changes of records and of members' entries, as hints. Changes that a watch misses
   * appear in the next regular read.
   *
   * @param changed is called with a change, by any thread; returns at once and throws nothing
   * @return the watch, which follows no key yet; it renews itself until it is closed
   */
  Watch watch(Consumer<Change> changed);

  /** Closes connections and threads. The next call opens them again. Never throws. */
  @Override
  void close();

  /**
   * The keys to read. The answer does not contain keys that do not exist.
   *
   * @param keys single keys
   * @param folders the keys below others
   * @param fresh whether the answer must show every commit that was confirmed before, to anyone. If
   *     not, any server may answer by itself and may be behind: such a reading grants nothing
   */
  record Query(Set<String> keys, Set<Folder> folders, boolean fresh) {}

  /**
   * The keys directly below a key.
   *
   * @param parent the key above, without a separator at its end
   * @param newest how many keys to read at most: those with the greatest names, by the order of
   *     their characters (the names of terms have a fixed length)
   */
  record Folder(String parent, int newest) {}

  /**
   * The result of a read.
   *
   * @param entries by key
   * @param identity what the server knows of the identity of the cluster, which survives restarts;
   *     may be the same for a cluster that was restored from a snapshot
   * @param revision the number of the cluster's last write that the answer shows, or an earlier
   *     one; of a fresh reading, not before what was read. It never decreases, even if all keys are
   *     deleted, unless the cluster goes back to an earlier state
   * @param epoch a number that grows when the servers choose their leader, at least when they start
   *     with other data; of a reading that is not fresh, it may be an earlier one; 0 if the
   *     servers do not number that
   */
  record Snapshot(Map<String, Entry> entries, String identity, long revision, long epoch) {}

  /**
   * A key as found.
   *
   * @param value its value
   * @param version its version
   * @param foreign whether a session of another tool owns the key (an ephemeral node that is not
   *     ours): it is not written
   */
  record Entry(String value, Version version, boolean foreign) {}

  /**
   * The version of a key.
   *
   * @param number what a {@link Commit} compares. Differs after each write, but a key that was
   *     deleted and created again may have a number that it had before
   * @param written the revision of the cluster at the last write. Never the same for two writes of
   *     a key, even if it was deleted in between
   */
  record Version(long number, long written) {}

  /**
   * Checks and writes. No key occurs twice. There are at most a few dozen writes, and one check or
   * two for each election that this node leads.
   *
   * @param checks keys that must exist in a version, by its number
   * @param writes what to write
   * @param heldAt the revision of a fresh reading in which all checks were met; 0 if there was
   *     none. If there are more checks than a transaction may have, and versions are {@linkplain
   *     #reusesVersions() never reused}, the server may instead check that no record has been
   *     written after that revision
   */
  record Commit(Map<String, Version> checks, List<Write> writes, long heldAt) {}

  /** A write, which happens only if its key is as expected. */
  sealed interface Write {

    /**
     * Returns the key.
     *
     * @return the key
     */
    String key();
  }

  /**
   * Creates a key, which must not exist.
   *
   * @param key the key
   * @param value its value
   */
  record Create(String key, String value) implements Write {}

  /**
   * Replaces the value of a key, which must exist in a version.
   *
   * @param key the key
   * @param value its new value
   * @param version its version until now
   */
  record Put(String key, String value, Version version) implements Write {}

  /**
   * Deletes a key, which must exist in a version.
   *
   * @param key the key
   * @param version its version until now
   */
  record Delete(String key, Version version) implements Write {}

  /**
   * Returns whether a key that was deleted and created again may have a {@link Version#number()}
   * that it had before. If so, a renewal is followed by a reading of what it checked: a read that
   * follows a commit, in one operation, shows that commit and all before it.
   *
   * @return {@code true} for ZooKeeper
   */
  boolean reusesVersions();

  /**
   * Asks how many entries the log of the server has, and does not wait for the answer. Each write is
   * one, so that they are never fewer by more than they were; but a cluster that was restored from a
   * snapshot, and continues the revisions of its writes, begins a log.
   *
   * @return the number, once; empty if the server has none, or begins to number its writes as well
   * @throws LeaseStoreException if it cannot be asked
   */
  default Answer<OptionalLong> logIndex() throws LeaseStoreException {
    return OptionalLong::empty;
  }

  /**
   * The answer to a request that was sent.
   *
   * @param <T> what it says
   */
  @FunctionalInterface
  interface Answer<T> {

    /**
     * Waits for the answer.
     *
     * @return the answer
     * @throws LeaseStoreException if there is none in time, or the server refused the request
     */
    T await() throws LeaseStoreException;
  }

  /**
   * A change that a watch has noticed.
   *
   * @param key the key
   * @param kind what has happened to it
   * @param value the value that was written; {@code null} if the server does not report it
   * @param revision the revision of the cluster at the change; {@link #UNKNOWN} if the server does
   *     not report it. It then reports a change before it answers a read that shows it
   */
  record Change(String key, Kind kind, @Nullable String value, long revision) {

    /** The revision of a change whose server does not report one. */
    public static final long UNKNOWN = Long.MAX_VALUE;

    /** The kind of a change. */
    public enum Kind {
      /** It was created or put. */
      WRITTEN,
      /** It was deleted. */
      DELETED,
      /** A key directly below it was created or deleted. */
      BELOW
    }
  }

  /** A watch, until it is closed. */
  interface Watch extends AutoCloseable {

    /**
     * Sets the keys whose changes are reported from now on. Returns at once. A server whose changes
     * show values may report nothing that happens below a key.
     *
     * @param keys keys of records, of members, and of what is above the terms of records
     */
    void follow(Set<String> keys);

    /** Ends the watch. May be called by any thread, and more than once. Never throws. */
    @Override
    void close();
  }
}
