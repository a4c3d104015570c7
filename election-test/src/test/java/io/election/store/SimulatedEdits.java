package io.election.store;

import io.election.AuditNote;
import io.election.store.MemoryLeaseStore.Row;
import io.election.test.ManualEdits;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Edits the tables in memory by hand. */
record SimulatedEdits(SimulatedDatabase database) implements ManualEdits {

  @Override
  public void replace(String serviceId, String leaderId, @Nullable Long leaseMillis) {
    this.database.replace(serviceId, leaderId, leaseMillis, 0);
  }

  @Override
  public void copy(String from, String to) {
    this.database.copy(from, to);
  }

  @Override
  public void setLeader(String serviceId, String leaderId) {
    this.database.edit(serviceId, (row) -> SimulatedDatabase.named(row, leaderId));
  }

  @Override
  public void setTerm(String serviceId, long term) {
    this.database.edit(
        serviceId, (row) -> SimulatedDatabase.edited(row, row.leaderId(), term, row.leaseMillis()));
  }

  @Override
  public void setVersion(String serviceId, long version) {
    this.database.edit(serviceId, (row) -> written(row, version, row.written()));
  }

  @Override
  public void setLease(String serviceId, @Nullable Long leaseMillis) {
    this.database.edit(
        serviceId, (row) -> SimulatedDatabase.edited(row, row.leaderId(), row.term(), leaseMillis));
  }

  @Override
  public void touch(String serviceId) {
    setBackByMicros(serviceId, -1);
  }

  @Override
  public void setBack(String serviceId, Duration by) {
    setBackByMicros(serviceId, by.toNanos() / 1_000);
  }

  private void setBackByMicros(String serviceId, long by) {
    this.database.edit(serviceId, (row) -> written(row, row.version(), row.written() - by));
  }

  @Override
  public void delete(String serviceId) {
    this.database.deleteRow(serviceId);
  }

  @Override
  public void insertTerm(String serviceId, long term, String leaderId, long leaseMillis) {
    this.database.insertTerm(serviceId, term, leaderId, leaseMillis);
  }

  @Override
  public void endTerm(String serviceId, long term, Duration ago) {
    this.database.endTerm(serviceId, term, ago);
  }

  @Override
  public void deleteHistory(String serviceId) {
    this.database.history(serviceId).clear();
  }

  @Override
  public List<Term> history(String serviceId) {
    return this.database.history(serviceId).entrySet().stream()
        .map((entry) -> {
          MemoryTerm term = entry.getValue();
          AuditNote by = term.auditNote();
          return new Term(
              entry.getKey(),
              term.leaderId(),
              term.leaseMillis(),
              !term.ended(),
              term.reason(),
              term.endReason(),
              by != null ? by.actor() : null,
              by != null ? by.reason() : null);
        })
        .toList();
  }

  private static Row written(Row row, long version, long written) {
    return new Row(row.leaderId(), row.term(), version, row.leaseMillis(), written, row.seal());
  }
}
