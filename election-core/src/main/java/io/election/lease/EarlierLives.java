package io.election.lease;

import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The leases that stopped electors of this process keep while leader work still runs. An elector
 * that is started meanwhile under the same node id waits until they are handed back: otherwise it
 * would find its own name in the record.
 */
final class EarlierLives {

  private record Key(String store, String serviceId, String nodeId) {}

  private static final Map<Key, Candidate> KEPT = new ConcurrentHashMap<>();

  private EarlierLives() {}

  static void keep(String store, Candidate candidate) {
    KEPT.put(key(store, candidate.serviceId(), candidate.nodeId()), candidate);
  }

  static void end(String store, Collection<Candidate> candidates) {
    candidates.forEach((candidate) ->
        KEPT.remove(key(store, candidate.serviceId(), candidate.nodeId()), candidate));
    synchronized (KEPT) {
      KEPT.notifyAll();
    }
  }

  /** Returns the election as an earlier elector of this process keeps it under this node id. */
  static Optional<Candidate> find(String store, String serviceId, String nodeId) {
    return Optional.ofNullable(KEPT.get(key(store, serviceId, nodeId)));
  }

  /** Waits until none of the elections is kept. */
  static void awaitEnd(String store, Collection<Candidate> candidates, String nodeId)
      throws InterruptedException {
    synchronized (KEPT) {
      while (candidates.stream()
          .anyMatch((candidate) -> find(store, candidate.serviceId(), nodeId).isPresent())) {
        KEPT.wait();
      }
    }
  }

  private static Key key(String store, String serviceId, String nodeId) {
    return new Key(store, serviceId, nodeId);
  }
}
