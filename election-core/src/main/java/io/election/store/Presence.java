package io.election.store;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Which nodes are there, for a store of members: judged by whether this process sees what a node
 * writes again and again change, on its own monotonic clock. What is first read counts as a change.
 *
 * <p>Not thread-safe.
 *
 * @param <V> what is compared for equality, for instance a version or the text of a time
 */
public final class Presence<V> {

  /** How many of its leases a member may not change for. */
  private static final int LEASES = 3;

  /** For how long a key must not have changed before it is deleted: far longer than any lease. */
  private static final Duration GONE = Duration.ofDays(1);

  /**
   * A key that its process writes again and again.
   *
   * @param value its value as read last
   * @param since when it was first read with this value, by the ticker, after the answer
   */
  private record Sighting<V>(V value, long since) {}

  private final Ticker ticker;

  private final Map<String, Sighting<V>> sightings = new HashMap<>();

  /**
   * Creates one that has seen nothing.
   *
   * @param ticker the clock of this process
   */
  public Presence(Ticker ticker) {
    this.ticker = ticker;
  }

  /**
   * Notes which keys have changed.
   *
   * @param values all keys that were just read; others are forgotten
   */
  public void saw(Map<String, ? extends V> values) {
    long now = this.ticker.read();
    this.sightings.keySet().retainAll(values.keySet());
    values.forEach((key, value) -> {
      Sighting<V> last = this.sightings.get(key);
      if (last == null || !last.value().equals(value)) {
        this.sightings.put(key, new Sighting<>(value, now));
      }
    });
  }

  /**
   * Returns whether a node is there: this process has not seen its key unchanged for three of its
   * leases.
   *
   * @param value the value that was just read
   * @param leaseMillis the node's lease, in milliseconds; out of range if it was written by hand
   * @param asked a reading of the ticker before the request
   */
  public boolean isThere(String key, V value, long leaseMillis, long asked) {
    long lease = Math.max(0, Math.min(leaseMillis, LeaseSettings.MAX_LEASE.toMillis()));
    return !isSilent(key, value, Duration.ofMillis(lease).multipliedBy(LEASES), asked);
  }

  /**
   * Returns whether this process has seen a key unchanged for a day, so that it may be deleted. The
   * deletion must compare the value.
   *
   * @param value the value that was just read
   * @param asked a reading of the ticker before the request
   */
  public boolean isGone(String key, V value, long asked) {
    return isSilent(key, value, GONE, asked);
  }

  /** Forgets all keys. */
  public void clear() {
    this.sightings.clear();
  }

  private boolean isSilent(String key, V value, Duration time, long asked) {
    Sighting<V> last = this.sightings.get(key);
    return last != null && last.value().equals(value) && asked - last.since() >= time.toNanos();
  }
}
