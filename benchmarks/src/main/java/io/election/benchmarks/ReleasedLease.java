package io.election.benchmarks;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A store in which every lease is free and every renewal succeeds. It is not what is measured. */
final class ReleasedLease implements LeaseStore {

  private static final LeaseRow ROW = new LeaseRow("", 1, 1, 0L, null, "", "");

  @Override
  public String name() {
    return "benchmark";
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) {
    Map<String, Reading> readings = new HashMap<>();
    serviceIds.forEach((id) -> readings.put(id, new Reading(ROW, Duration.ZERO)));
    return readings;
  }

  @Override
  public Set<String> renew(String nodeId, Map<String, Long> terms) {
    return terms.keySet();
  }

  @Override
  public Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm) {
    return Optional.empty();
  }

  @Override
  public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) {
    return Optional.empty();
  }

  @Override
  public boolean lead(String serviceId, LeaseRow seen, long leaseMillis) {
    return false;
  }

  @Override
  public OptionalLong take(
      String serviceId,
      LeaseRow seen,
      String nodeId,
      long leaseMillis,
      long aboveTerm,
      String reason) {
    return OptionalLong.of(2);
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, String successor, Ending ending) {
    return true;
  }

  @Override
  public boolean giveWay(String serviceId, String nodeId, long term, Ending ending) {
    return false;
  }

  @Override
  public boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction) {
    return false;
  }

  @Override
  public Map<String, List<HistoryEntry>> history(Set<String> serviceIds) {
    return Map.of();
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) {}

  @Override
  public void close() {}
}
