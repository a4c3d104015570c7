package io.election.keyvalue;

import io.election.keyvalue.KeyValueServer.Folder;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseStoreException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Reads records, the heartbeats that they name, and, if a record was written by hand, its newest
 * terms.
 */
final class Records {

  /** How often a call reads, if what it has read changes before it is complete or compared. */
  static final int ATTEMPTS = 4;

  private final KeyValueServer server;
  private final WatchedKeys followed;
  private final Lineage lineage;
  private final HeldLeases life;
  private final Values values = new Values();

  Records(KeyValueServer server, WatchedKeys followed, Lineage lineage, HeldLeases life) {
    this.server = server;
    this.followed = followed;
    this.lineage = lineage;
    this.life = life;
  }

  /**
   * Reads what the nearest server knows, which may be old; if this node will probably take one of
   * the records, what no server misses.
   *
   * @param open the records that this node will probably take: they are read with the newest terms
   */
  Map<String, ElectionReading> poll(Set<String> serviceIds, Set<String> open)
      throws LeaseStoreException {
    this.lineage.check();
    Set<String> keys = new HashSet<>(Set.of(Keys.IDENTITY));
    Set<Folder> folders = new HashSet<>();
    for (String id : serviceIds) {
      keys.add(Keys.record(id));
      this.followed.heartbeat(id).ifPresent(keys::add);
      if (open.contains(id) || this.followed.needsTerms(id)) {
        folders.add(newestTerms(id));
      }
    }
    Map<String, ElectionReading> views = read(serviceIds, keys, folders, !open.isEmpty());
    this.values.retain(keys);
    this.followed.saw(views.values());
    views.values().stream().findAny().ifPresent((view) -> this.lineage.saw(view.snapshot()));
    return views;
  }

  /** Reads what no server misses, with the newest terms and the heartbeat of this process. */
  ElectionReading inspect(String serviceId) throws LeaseStoreException {
    for (int i = 0; i < ATTEMPTS; i++) {
      Set<String> keys =
          new HashSet<>(Set.of(Keys.IDENTITY, Keys.record(serviceId), this.life.heartbeatKey()));
      this.followed.heartbeat(serviceId).ifPresent(keys::add);
      Set<Folder> folders = new HashSet<>(Set.of(newestTerms(serviceId)));
      ElectionReading view = read(Set.of(serviceId), keys, folders, true).get(serviceId);
      if (view != null && this.lineage.goesOn(view.snapshot())) {
        this.life.sawHeartbeat(view.snapshot());
        return view;
      }
    }
    throw new LeaseStoreException(
        "The servers choose their leader again and again, or their identity is edited in a loop.");
  }

  private Map<String, ElectionReading> read(
      Set<String> serviceIds, Set<String> keys, Set<Folder> folders, boolean current)
      throws LeaseStoreException {
    for (int i = 0; i < ATTEMPTS; i++) {
      this.followed.asks();
      Snapshot snapshot = this.server.read(new Query(keys, folders, current));
      Map<String, ElectionReading> views = new LinkedHashMap<>();
      boolean complete = true;
      for (String id : serviceIds) {
        ElectionReading view =
            ElectionReading.of(id, snapshot, folders.contains(newestTerms(id)), this.values);
        views.put(id, view);
        if (view.needsTerms() && folders.add(newestTerms(id))) {
          complete = false;
        }
        if (!view.heartbeat().isEmpty() && keys.add(Keys.heartbeat(view.heartbeat()))) {
          complete = false;
        }
      }
      if (complete) {
        return views;
      }
    }
    throw new LeaseStoreException(
        "The records change while they are read. Does another client write to them in a loop?");
  }

  private static Folder newestTerms(String serviceId) {
    return new Folder(Keys.terms(serviceId), ElectionDirectory.HISTORY_LENGTH);
  }
}
