package io.election.jdbc;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The leases that other nodes held when this process last read them. Thread-safe. */
final class FollowedLeases {

  private record Lease(String holder, long millis) {}

  private final Map<String, Lease> leases = new ConcurrentHashMap<>();

  private volatile Runnable listener = () -> {};

  /** Sets what is called after each change, which must not block. */
  void onChange(Runnable listener) {
    this.listener = listener;
  }

  /** Applies a read of records. */
  void read(Set<String> serviceIds, Map<String, Reading> readings) {
    boolean changed = false;
    for (String serviceId : serviceIds) {
      Reading reading = readings.get(serviceId);
      LeaseRow row = reading != null ? reading.row() : null;
      Long millis = row != null ? row.leaseMillis() : null;
      if (row == null || row.own() || row.leaderId().isEmpty() || Objects.equals(millis, 0L)) {
        changed |= this.leases.remove(serviceId) != null;
      } else {
        changed |= followed(serviceId, row.leaderId(), millis != null ? millis : 0);
      }
    }
    if (changed) {
      this.listener.run();
    }
  }

  /** Returns whether that is new. */
  private boolean followed(String serviceId, String holder, long millis) {
    Lease known = this.leases.get(serviceId);
    if (known != null && known.millis() == millis && known.holder().equals(holder)) {
      return false;
    }
    this.leases.put(serviceId, new Lease(holder, millis));
    return true;
  }

  /** Forgets a lease that this process has acquired. */
  void acquired(String serviceId) {
    this.leases.remove(serviceId);
  }

  /** Returns the node that holds most of the leases, apart from a node itself. */
  Optional<String> mainHolder(String self) {
    Map<String, Integer> held = new LinkedHashMap<>();
    this.leases.values().forEach((lease) -> held.merge(lease.holder(), 1, Integer::sum));
    held.remove(self);
    return held.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  /** Returns the number of leases of a holder. */
  long count(String holder) {
    return heldBy(holder).count();
  }

  /** Returns the longest lease of a holder. */
  Duration longest(String holder) {
    return Duration.ofMillis(heldBy(holder).mapToLong(Lease::millis).max().orElse(0));
  }

  private Stream<Lease> heldBy(String holder) {
    return this.leases.values().stream().filter((lease) -> lease.holder().equals(holder));
  }

  void clear() {
    this.leases.clear();
  }
}
