package io.election.lease;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The two tables in memory, and stores over them that can be made to fail. The stores pass the same
 * contract as those over a real database.
 */
public final class SimulatedDatabase {

  /** An entry of the history. */
  public record Term(String leaderId, long leaseMillis, String reason, boolean ended) {

    Term over() {
      return new Term(this.leaderId, this.leaseMillis, this.reason, true);
    }
  }

  private record Row(
      String leaderId, long term, long version, @Nullable Long leaseMillis, long written) {}

  private final Map<String, Row> rows = new HashMap<>();

  private final Map<String, NavigableMap<Long, Term>> history = new HashMap<>();

  private final @Nullable LongSupplier clock;

  private long writes;

  /** How often another server has taken the place of the last. */
  private int failovers;

  /** A database whose every write has a time of its own, which means nothing. */
  public SimulatedDatabase() {
    this.clock = null;
  }

  /**
   * A database with a clock.
   *
   * @param clock in microseconds; right or wrong
   */
  public SimulatedDatabase(LongSupplier clock) {
    this.clock = clock;
  }

  private long time() {
    return this.clock != null ? this.clock.getAsLong() : this.writes;
  }

  public synchronized NavigableMap<Long, Term> history(String serviceId) {
    return this.history.computeIfAbsent(serviceId, (id) -> new TreeMap<>());
  }

  public synchronized void deleteRow(String serviceId) {
    this.rows.remove(serviceId);
  }

  public synchronized void emptyTables() {
    this.rows.clear();
    this.history.clear();
  }

  /** Changes a row as an operator would: version and time stay unless the edit changes them. */
  public synchronized void edit(String serviceId, UnaryOperator<LeaseRow> edit) {
    LeaseRow before = row(serviceId);
    if (before == null) {
      throw new IllegalStateException("no row for " + serviceId);
    }
    LeaseRow row = edit.apply(before);
    this.rows.put(
        serviceId,
        new Row(
            row.leaderId(),
            row.term(),
            row.version(),
            row.leaseMillis(),
            Long.parseLong(row.lastActiveTime())));
  }

  /** Replaces a row as an operator or an older tool would, that knows of three columns only. */
  public synchronized void replace(String serviceId, String leaderId) {
    write(serviceId, leaderId, 0, 0, null);
  }

  /**
   * What a node of an older tool does every second; needs a clock.
   *
   * <pre>
   * INSERT INTO leader_election (service_id, leader_id, last_active_time) VALUES (?, ?, now())
   * ON DUPLICATE KEY UPDATE
   *     leader_id = if(last_active_time &lt;= now() - interval 5 second, values(leader_id), leader_id),
   *     last_active_time = if(leader_id = values(leader_id), values(last_active_time), last_active_time)
   * </pre>
   *
   * @return whether the statement changed a row, in which case such a node believes that it leads
   */
  public synchronized boolean contend(String serviceId, String nodeId, Duration interval) {
    // now() has no fraction.
    long now = Math.floorDiv(time(), 1_000_000) * 1_000_000;
    Row row = this.rows.get(serviceId);
    if (row == null) {
      this.rows.put(serviceId, new Row(nodeId, 0, 0, null, now));
      return true;
    }
    boolean rested = row.written() <= now - interval.toNanos() / 1_000;
    String leader = rested ? nodeId : row.leaderId();
    long written = leader.equals(nodeId) ? now : row.written();
    Row after = new Row(leader, row.term(), row.version(), row.leaseMillis(), written);
    this.rows.put(serviceId, after);
    return !after.equals(row);
  }

  /**
   * All that decides about an election.
   *
   * @param row its row; {@code null} if there is none
   * @param newestTerm the newest term of its history; 0 if there is none
   * @param newest the entry of that term
   * @param writes how often anything has been written
   */
  record Snapshot(
      @Nullable LeaseRow row, long newestTerm, @Nullable Term newest, long writes) {}

  synchronized Snapshot snapshot(String serviceId) {
    Map.Entry<Long, Term> newest = history(serviceId).lastEntry();
    return newest == null
        ? new Snapshot(row(serviceId), 0, null, this.writes)
        : new Snapshot(row(serviceId), newest.getKey(), newest.getValue(), this.writes);
  }

  synchronized void restore(String serviceId, Snapshot snapshot) {
    emptyTables();
    if (snapshot.newest() != null) {
      history(serviceId).put(snapshot.newestTerm(), snapshot.newest());
    }
    LeaseRow row = snapshot.row();
    if (row != null) {
      this.rows.put(
          serviceId,
          new Row(
              row.leaderId(),
              row.term(),
              row.version(),
              row.leaseMillis(),
              Long.parseLong(row.lastActiveTime())));
    }
    this.writes = snapshot.writes();
  }

  public synchronized @Nullable LeaseRow row(String serviceId) {
    Row row = this.rows.get(serviceId);
    if (row == null) {
      return null;
    }
    boolean unknown = row.leaseMillis() == null || row.leaseMillis() < 0;
    Map.Entry<Long, Term> last = history(serviceId).lastEntry();
    return new LeaseRow(
        row.leaderId(),
        row.term(),
        row.version(),
        row.leaseMillis(),
        unknown && last != null ? last.getValue().leaseMillis() : null,
        Long.toString(row.written()),
        "server-" + this.failovers);
  }

  /** Another server takes over, which has missed the latest renewals of a row. */
  synchronized void failOver(String serviceId, LeaseRow missedRenewals) {
    this.failovers++;
    edit(serviceId, (row) -> missedRenewals);
  }

  private synchronized void write(
      String serviceId, String leaderId, long term, long version, @Nullable Long leaseMillis) {
    this.writes++;
    this.rows.put(serviceId, new Row(leaderId, term, version, leaseMillis, time()));
  }

  /** How long ago a row was written, by the database's clock. */
  synchronized Duration age(LeaseRow row) {
    return this.clock == null
        ? Duration.ZERO
        : Duration.of(time() - Long.parseLong(row.lastActiveTime()), ChronoUnit.MICROS);
  }

  private void openTerm(String serviceId, long term, Term entry) {
    NavigableMap<Long, Term> terms = history(serviceId);
    terms.replaceAll((number, old) -> old.over());
    terms.put(term, entry);
  }

  private void endTerm(String serviceId, long term) {
    history(serviceId).computeIfPresent(term, (number, old) -> old.over());
  }

  private long newestTerm(String serviceId) {
    NavigableMap<Long, Term> terms = history(serviceId);
    return terms.isEmpty() ? 0 : Math.max(0, terms.lastKey());
  }

  private long termAbove(String serviceId, long term) throws LeaseStoreException {
    long last = Math.max(term, newestTerm(serviceId));
    if (last == Long.MAX_VALUE) {
      throw new LeaseStoreException("There is no greater term");
    }
    return last + 1;
  }

  /** One node's way to the database. */
  public class Store implements LeaseStore {

    /** Is run before each call, and may throw, block or let time pass. */
    @FunctionalInterface
    public interface Before {
      void call(String name) throws LeaseStoreException;
    }

    private volatile Before before = (name) -> {};

    /** The calls made so far. */
    public final List<String> calls = new ArrayList<>();

    public void before(Before before) {
      this.before = before;
    }

    private void call(String name) throws LeaseStoreException {
      synchronized (this.calls) {
        this.calls.add(name);
      }
      this.before.call(name);
    }

    @Override
    public String name() {
      return "simulation";
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      call("read");
      Map<String, Reading> readings = new LinkedHashMap<>();
      synchronized (SimulatedDatabase.this) {
        for (String id : serviceIds) {
          LeaseRow row = row(id);
          if (row != null) {
            readings.put(id, new Reading(row, age(row)));
          }
        }
      }
      return readings;
    }

    @Override
    public Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      call("renew");
      Set<String> renewed = new LinkedHashSet<>();
      synchronized (SimulatedDatabase.this) {
        terms.forEach((id, term) -> {
          LeaseRow row = row(id);
          if (row != null
              && row.leaderId().equals(nodeId)
              && row.term() == term
              && row.leaseMillis() != null
              && row.leaseMillis() > 0) {
            write(id, nodeId, term, row.version() + 1, row.leaseMillis());
            renewed.add(id);
          }
        });
      }
      return renewed;
    }

    @Override
    public Optional<LeaseRow> create(
        String serviceId, String nodeId, long leaseMillis, long aboveTerm)
        throws LeaseStoreException {
      call("create");
      synchronized (SimulatedDatabase.this) {
        if (row(serviceId) != null) {
          return Optional.empty();
        }
        Map.Entry<Long, Term> last = history(serviceId).lastEntry();
        long lease =
            last != null ? Math.max(leaseMillis, last.getValue().leaseMillis()) : leaseMillis;
        long term = termAbove(serviceId, aboveTerm);
        write(serviceId, nodeId, term, 1, lease);
        openTerm(serviceId, term, new Term(nodeId, lease, "CREATED", false));
        return Optional.ofNullable(row(serviceId));
      }
    }

    @Override
    public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException {
      call("keepWarm");
      synchronized (SimulatedDatabase.this) {
        if (!seen.equals(row(serviceId))) {
          return Optional.empty();
        }
        write(serviceId, seen.leaderId(), seen.term(), seen.version() + 1, seen.leaseMillis());
        return Optional.ofNullable(row(serviceId));
      }
    }

    @Override
    public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
        throws LeaseStoreException {
      call("lead");
      synchronized (SimulatedDatabase.this) {
        if (!seen.equals(row(serviceId))) {
          return false;
        }
        write(serviceId, seen.leaderId(), seen.term(), seen.version() + 1, leaseMillis);
        history(serviceId)
            .computeIfPresent(
                seen.term(),
                (number, old) -> new Term(old.leaderId(), leaseMillis, old.reason(), old.ended()));
        return true;
      }
    }

    @Override
    public OptionalLong take(
        String serviceId,
        LeaseRow seen,
        String nodeId,
        long leaseMillis,
        long aboveTerm,
        String reason)
        throws LeaseStoreException {
      call("take");
      synchronized (SimulatedDatabase.this) {
        if (!seen.equals(row(serviceId))) {
          return OptionalLong.empty();
        }
        long term = termAbove(serviceId, Math.max(seen.term(), aboveTerm));
        write(serviceId, nodeId, term, seen.version() + 1, leaseMillis);
        openTerm(serviceId, term, new Term(nodeId, leaseMillis, reason, false));
        return OptionalLong.of(term);
      }
    }

    @Override
    public boolean release(String serviceId, String nodeId, long term, String successor)
        throws LeaseStoreException {
      call("release");
      synchronized (SimulatedDatabase.this) {
        LeaseRow row = row(serviceId);
        if (row == null || !row.leaderId().equals(nodeId) || row.term() != term) {
          return false;
        }
        write(serviceId, successor, term, row.version() + 1, 0L);
        endTerm(serviceId, term);
        return true;
      }
    }

    @Override
    public boolean giveWay(String serviceId, String nodeId, long term) throws LeaseStoreException {
      call("giveWay");
      synchronized (SimulatedDatabase.this) {
        LeaseRow row = row(serviceId);
        Term held = history(serviceId).get(term);
        if (row == null
            || row.leaderId().equals(nodeId)
            || row.term() != term
            || held == null
            || !held.leaderId().equals(nodeId)) {
          return false;
        }
        write(serviceId, row.leaderId(), term, row.version() + 1, 0L);
        endTerm(serviceId, term);
        return true;
      }
    }

    @Override
    public boolean designate(String serviceId, String leaderId) throws LeaseStoreException {
      call("designate");
      synchronized (SimulatedDatabase.this) {
        LeaseRow row = row(serviceId);
        if (row == null) {
          return false;
        }
        write(serviceId, leaderId, row.term(), row.version() + 1, row.leaseMillis());
        return true;
      }
    }

    @Override
    public List<String> recentLeaders(String serviceId) throws LeaseStoreException {
      call("recentLeaders");
      synchronized (SimulatedDatabase.this) {
        return history(serviceId).entrySet().stream()
            .sorted(Map.Entry.comparingByKey(Comparator.reverseOrder()))
            .map((entry) -> entry.getValue().leaderId())
            .distinct()
            .limit(10)
            .toList();
      }
    }

    @Override
    public void close() {}
  }
}
