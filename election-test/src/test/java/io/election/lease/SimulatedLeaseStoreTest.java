package io.election.lease;

import io.election.AuditNote;
import io.election.lease.MemoryLeaseStore.Row;
import io.election.testing.ManualEdits;
import io.election.testing.OlderToolsContract;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Shows that the store in memory, which the simulation, the exhaustive search and the test kit use,
 * behaves like the real ones.
 */
class SimulatedLeaseStoreTest extends OlderToolsContract {

  private final AtomicLong micros = new AtomicLong(1_000_000_000);

  private final SimulatedDatabase database =
      new SimulatedDatabase(() -> this.micros.addAndGet(100));

  @Override
  protected LeaseStore open() {
    return this.database.new Store();
  }

  @Override
  protected ManualEdits edits() {
    return new SimulatedEdits();
  }

  @Override
  protected void contend(String serviceId, String nodeId) {
    this.database.contend(serviceId, nodeId, OLDER_TOOLS_INTERVAL);
  }

  private final class SimulatedEdits implements ManualEdits {

    private final SimulatedDatabase database = SimulatedLeaseStoreTest.this.database;

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
          serviceId,
          (row) -> SimulatedDatabase.edited(row, row.leaderId(), term, row.leaseMillis()));
    }

    @Override
    public void setVersion(String serviceId, long version) {
      this.database.edit(serviceId, (row) -> written(row, version, row.written()));
    }

    @Override
    public void setLease(String serviceId, @Nullable Long leaseMillis) {
      this.database.edit(
          serviceId,
          (row) -> SimulatedDatabase.edited(row, row.leaderId(), row.term(), leaseMillis));
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
            MemoryLeaseStore.Term term = entry.getValue();
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
}
