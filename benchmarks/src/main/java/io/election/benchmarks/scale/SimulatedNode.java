package io.election.benchmarks.scale;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Elector;
import io.election.lease.Ending;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A real elector on simulated time. A step of it ends after one call to the store, so that the calls of
 * all nodes are made in the order of their instants.
 */
final class SimulatedNode implements LeaseStore {

  /** Ends a step; there is nothing wrong. */
  private static final class StepIsOver extends RuntimeException {

    private static final StepIsOver INSTANCE = new StepIsOver();

    private static final long serialVersionUID = 1;

    private StepIsOver() {
      super(null, null, false, false);
    }
  }

  private final String id;

  private final SimulatedServer server;

  private final ServiceTimes times;

  private final LeaseSettings settings;

  private final SimulatedFigures figures;

  private final Elector elector;

  private final List<LeaseElectionService> elections = new ArrayList<>();

  /** This node's present. */
  private long now;

  private boolean called;

  private boolean connected;

  private final Map<String, Long> sentAt = new HashMap<>();

  SimulatedNode(
      String id,
      SimulatedServer server,
      ServiceTimes times,
      LeaseSettings settings,
      List<String> elections,
      SimulatedFigures figures) {
    this.id = id;
    this.server = server;
    this.times = times;
    this.settings = settings;
    this.figures = figures;
    this.elector = new Elector(
        this,
        settings,
        () -> id,
        (serviceId) -> {
          // Asked before each call but the first.
          if (this.called) {
            throw StepIsOver.INSTANCE;
          }
          return false;
        },
        this::count,
        () -> this.now,
        () -> Instant.ofEpochMilli(this.now / 1_000_000));
    for (String election : elections) {
      this.elections.add(new SimulatedElection(election, this.elector));
    }
  }

  private static final class SimulatedElection extends LeaseElectionService {

    SimulatedElection(String serviceId, Elector elector) {
      super(serviceId, elector);
    }
  }

  String id() {
    return this.id;
  }

  void join(long now) {
    this.now = now;
    this.elector.join(this.elections);
  }

  /** Steps at an instant, and gives the instant of the next step. */
  long step(long now) {
    this.now = now;
    this.called = false;
    try {
      long pause = this.elector.step();
      return this.now + Math.max(pause, 1000);
    } catch (StepIsOver over) {
      return this.now;
    }
  }

  private void count(LeadershipEvent event) {
    if (event instanceof LeadershipLostEvent lost
        && (lost.reason() == LeadershipLostEvent.Reason.EXPIRED
            || lost.reason() == LeadershipLostEvent.Reason.DISPLACED)) {
      this.figures.lost();
    }
  }

  @Override
  public String name() {
    return "simulated";
  }

  @Override
  public Map<String, Reading> read(Set<String> ids) throws LeaseStoreException {
    long sent = connect();
    long done =
        this.server.serve(sent, this.times.read() + this.times.readRow() * (ids.size() - 1));
    Map<String, Reading> readings = this.server.read(ids, done);
    answered(Call.READ, sent, done, 1);
    return readings;
  }

  @Override
  public Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    long sent = connect();
    long done =
        this.server.serve(sent, this.times.renew() + this.times.renewRow() * (terms.size() - 1))
            + (long) (this.times.commit() * 1000);
    Set<String> renewed = this.server.records.renew(nodeId, terms);
    renewed.forEach((election) -> this.server.wrote(election, done));
    try {
      answered(Call.RENEW, sent, done, 1);
    } catch (LeaseStoreException ex) {
      this.figures.record(Call.FAILED_RENEW, this.now - sent);
      throw ex;
    }
    terms
        .keySet()
        .forEach((id) -> this.sentAt.computeIfPresent(id, (key, last) -> {
          this.figures.record(Call.RENEWAL_AGE, this.now - last);
          return renewed.contains(id) ? sent : null;
        }));
    return renewed;
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
    long sent = connect();
    OptionalLong term =
        this.server.records.take(serviceId, seen, nodeId, leaseMillis, aboveTerm, reason);
    if (term.isPresent()) {
      long done = this.server.serveLocked(sent, this.times.take(), this.times.commit(), serviceId);
      this.server.wrote(serviceId, done);
      answered(Call.TAKE, sent, done, 7);
      this.sentAt.put(serviceId, sent);
      this.figures.taken(serviceId, this.now);
    } else {
      long done = this.server.serveLocked(sent, this.times.refusedTake(), 0, serviceId);
      answered(Call.REFUSED_TAKE, sent, done, 4);
    }
    return term;
  }

  /** A connection is lost with each call that failed. */
  private long connect() {
    this.called = true;
    if (!this.connected) {
      this.connected = true;
      this.now = this.server.serve(this.now, this.times.connect());
    }
    return this.now;
  }

  private void answered(Call call, long sent, long done, int statements)
      throws LeaseStoreException {
    this.figures.statements(statements);
    long timeout = this.settings.operationTimeout().toNanos();
    if (done - sent > timeout) {
      this.now = sent + timeout;
      this.connected = false;
      this.figures.record(Call.FAILED, timeout);
      throw new LeaseStoreException("No answer in time");
    }
    this.now = done;
    this.figures.record(call, done - sent);
  }

  @Override
  public Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm) {
    throw new IllegalStateException("There are records for all elections");
  }

  @Override
  public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) {
    long sent = connect();
    Optional<LeaseRow> row = this.server.records.keepWarm(serviceId, seen);
    this.now = this.server.serve(sent, this.times.take());
    this.server.wrote(serviceId, this.now);
    return row;
  }

  @Override
  public boolean lead(String serviceId, LeaseRow seen, long leaseMillis) {
    return false;
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, String successor, Ending ending) {
    long sent = connect();
    boolean released = this.server.records.release(serviceId, nodeId, term, successor, ending);
    this.now = this.server.serve(sent, this.times.take());
    this.server.wrote(serviceId, this.now);
    return released;
  }

  @Override
  public boolean giveWay(String serviceId, String nodeId, long term, Ending ending) {
    return false;
  }

  @Override
  public boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction) {
    return false;
  }

  /** For people, once after a change; as dear as a look. */
  @Override
  public Map<String, List<HistoryEntry>> history(Set<String> serviceIds) {
    long sent = connect();
    this.figures.statements(1);
    this.now =
        this.server.serve(sent, this.times.read() + this.times.readRow() * (serviceIds.size() - 1));
    return Map.of();
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) {
    this.called = true;
  }

  @Override
  public void close() {}
}
