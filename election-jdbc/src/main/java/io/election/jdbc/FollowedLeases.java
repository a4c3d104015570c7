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

  private final Map<String, LeaseRow> leases = new ConcurrentHashMap<>();

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
      if (row == null || row.own() || row.leaderId().isEmpty() || row.isReleased()) {
        changed |= this.leases.remove(serviceId) != null;
      } else {
        LeaseRow known = this.leases.put(serviceId, row);
        changed |= known == null
            || !known.leaderId().equals(row.leaderId())
            || !Objects.equals(known.leaseMillis(), row.leaseMillis());
      }
    }
    if (changed) {
      this.listener.run();
    }
  }

  /** Forgets a lease that this process has acquired. */
  void acquired(String serviceId) {
    this.leases.remove(serviceId);
  }

  /** Returns the node that holds most of the leases, apart from a node itself. */
  Optional<String> mainHolder(String self) {
    Map<String, Integer> held = new LinkedHashMap<>();
    this.leases.values().forEach((lease) -> held.merge(lease.leaderId(), 1, Integer::sum));
    held.remove(self);
    return held.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  /** Returns the number of leases of a holder. */
  long count(String holder) {
    return heldBy(holder).count();
  }

  /** Returns the longest lease of a holder. */
  Duration longest(String holder) {
    return Duration.ofMillis(heldBy(holder)
        .mapToLong((lease) -> Objects.requireNonNullElse(lease.leaseMillis(), 0L))
        .max()
        .orElse(0));
  }

  private Stream<LeaseRow> heldBy(String holder) {
    return this.leases.values().stream().filter((lease) -> lease.leaderId().equals(holder));
  }

  void clear() {
    this.leases.clear();
  }
}
