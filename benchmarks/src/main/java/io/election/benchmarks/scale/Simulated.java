package io.election.benchmarks.scale;

import io.election.LeadershipLostEvent;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStoreException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A fleet on simulated time: first nothing happens, then the node is killed that leads the most.
 *
 * @param nodes how many nodes
 * @param elections how many elections
 * @param idlePerSecond statements a second while nothing happens
 * @param utilisation which part of the cores that takes
 * @param renewal renewals while nothing happens
 * @param poll looks meanwhile
 * @param age the age of renewals meanwhile
 * @param lost leaderships that were lost until then, and elections in which nobody ever led
 * @param stormRenewal renewals of the surviving leaders during the storm
 * @param stormAge their age
 * @param stormLost leaderships that survivors lost
 * @param gaps milliseconds without a leader, sorted; of an election that got none, not a number
 * @param refused attempts to take over that came too late
 * @param failed calls that failed during the storm
 * @param stormStatements statements during the storm
 */
record Simulated(
    int nodes,
    int elections,
    double idlePerSecond,
    double utilisation,
    Durations renewal,
    Durations poll,
    Durations age,
    long lost,
    Durations stormRenewal,
    Durations stormAge,
    long stormLost,
    double[] gaps,
    long refused,
    long failed,
    long stormStatements) {

  private static final double MEASURED_INTERVALS = 10;

  private static final double PATIENCE_LEASES = 5;

  /** Whether all elections had a leader and kept it while nothing happened. */
  boolean holds() {
    return this.lost == 0;
  }

  /** Whether moreover no survivor of the storm lost its lease, and all else was taken over. */
  boolean holdsInStorm() {
    return holds() && this.stormLost == 0 && Arrays.stream(this.gaps).noneMatch(Double::isNaN);
  }

  /**
   * Simulates.
   *
   * @param nodes how many nodes
   * @param elections how many elections
   * @param cores how many cores serve calls
   * @param times what calls cost these
   * @param settings of all nodes
   * @param share which part of the elections the first node leads; the others are led by one each
   */
  static Simulated run(
      int nodes,
      int elections,
      int cores,
      ServiceTimes times,
      LeaseSettings settings,
      double share) {
    return new Run(nodes, elections, cores, times, settings, share).measure();
  }

  /** A simulation. */
  private static final class Run {

    /** A step that is to come. */
    private record Event(long instant, int node) implements Comparable<Event> {

      @Override
      public int compareTo(Event other) {
        int order = Long.compare(this.instant, other.instant);
        return order != 0 ? order : Integer.compare(this.node, other.node);
      }
    }

    private final int elections;

    private final int cores;

    private final LeaseSettings settings;

    private final SimulatedServer server;

    private final SimulatedFigures figures = new SimulatedFigures();

    private final List<SimulatedNode> nodes = new ArrayList<>();

    private final List<String> names;

    private final PriorityQueue<Event> events = new PriorityQueue<>();

    private final Random random = new Random(1);

    private final long startNanos;

    private final int headElections;

    private int killed = -1;

    Run(
        int nodes,
        int elections,
        int cores,
        ServiceTimes times,
        LeaseSettings settings,
        double share) {
      this.elections = elections;
      this.cores = cores;
      this.settings = settings;
      this.server = new SimulatedServer(cores);
      this.names =
          IntStream.range(0, elections).mapToObj((i) -> "election-" + i).toList();
      this.headElections = Math.max(1, (int) (elections * share));
      for (int i = 0; i < nodes; i++) {
        this.nodes.add(
            new SimulatedNode("node-" + i, this.server, times, settings, this.names, this.figures));
      }
      // Slow enough for the server to set all connections up at half its capacity.
      this.startNanos =
          2 * renewNanos() + (long) (2000.0 * nodes * (times.connect() + times.read()) / cores);
    }

    Simulated measure() {
      prepareRecords();
      for (int i = 0; i < this.nodes.size(); i++) {
        long instant = i == 0 ? 0 : (long) (this.random.nextDouble() * this.startNanos);
        this.nodes.get(i).join(instant);
        this.events.add(new Event(instant, i));
      }
      long idle = this.startNanos + this.settings.leaseDuration().toNanos();
      runUntil(idle);
      Durations renewal = this.figures.durations(Call.RENEW);
      Durations poll = this.figures.durations(Call.READ);
      Durations age = this.figures.durations(Call.RENEWAL_AGE);
      long statements = this.figures.statementCount();
      double busy = this.server.busyMicros();
      long end = idle + (long) (MEASURED_INTERVALS * renewNanos());
      runUntil(end);
      double seconds = (end - idle) / 1e9;
      final Durations idleRenewal = this.figures.durations(Call.RENEW).since(renewal);
      final Durations idlePoll = this.figures.durations(Call.READ).since(poll);
      final Durations idleAge = this.figures.durations(Call.RENEWAL_AGE).since(age);
      final double perSecond = (this.figures.statementCount() - statements) / seconds;
      final double utilisation = (this.server.busyMicros() - busy) / 1e6 / seconds / this.cores;
      final long idleLost =
          this.figures.lostCount() + this.elections - this.figures.takenAt().size();
      return storm(end, idleRenewal, idlePoll, idleAge, perSecond, utilisation, idleLost);
    }

    /** Each election is handed to the node that is to lead it. */
    private void prepareRecords() {
      Ending ending = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, null);
      for (int i = 0; i < this.elections; i++) {
        String name = this.names.get(i);
        int leader =
            i < this.headElections ? 0 : 1 + (i - this.headElections) % (this.nodes.size() - 1);
        try {
          LeaseRow row = this.server.records.create(name, "before", 1, 0).orElseThrow();
          this.server.records.lead(name, row, 1);
        } catch (LeaseStoreException ex) {
          throw new IllegalStateException(ex);
        }
        String id = this.nodes.get(leader).id();
        if (!this.server.records.release(name, "before", 1, id, ending)) {
          throw new IllegalStateException(name + " was not handed to " + id);
        }
        this.server.wrote(name, 0);
      }
    }

    private Simulated storm(
        long start,
        Durations renewal,
        Durations poll,
        Durations age,
        double perSecond,
        double utilisation,
        long idleLost) {
      final Durations renewalBefore = this.figures.durations(Call.RENEW);
      final Durations ageBefore = this.figures.durations(Call.RENEWAL_AGE);
      final long refused = this.figures.durations(Call.REFUSED_TAKE).count();
      final long failed = this.figures.durations(Call.FAILED).count();
      final long statements = this.figures.statementCount();
      final long lost = this.figures.lostCount();
      this.killed = 0;
      long patience = (long) (PATIENCE_LEASES * this.settings.leaseDuration().toNanos());
      long end = start;
      while (end - start < patience && !allTakenSince(start)) {
        end += renewNanos();
        runUntil(end);
      }
      runUntil(end + 2 * renewNanos());
      double[] gaps = IntStream.range(0, this.headElections)
          .mapToDouble((i) -> gapMillis(this.names.get(i), start))
          .sorted()
          .toArray();
      return new Simulated(
          this.nodes.size(),
          this.elections,
          perSecond,
          utilisation,
          renewal,
          poll,
          age,
          idleLost,
          this.figures.durations(Call.RENEW).since(renewalBefore),
          this.figures.durations(Call.RENEWAL_AGE).since(ageBefore),
          this.figures.lostCount() - lost,
          gaps,
          this.figures.durations(Call.REFUSED_TAKE).count() - refused,
          this.figures.durations(Call.FAILED).count() - failed,
          this.figures.statementCount() - statements);
    }

    private double gapMillis(String election, long start) {
      Map<String, Long> taken = this.figures.takenAt();
      long instant = taken.getOrDefault(election, 0L);
      return instant > start ? (instant - start) / 1e6 : Double.NaN;
    }

    private boolean allTakenSince(long start) {
      return IntStream.range(0, this.headElections)
          .noneMatch((i) -> Double.isNaN(gapMillis(this.names.get(i), start)));
    }

    private void runUntil(long end) {
      while (!this.events.isEmpty() && this.events.peek().instant() < end) {
        Event event = this.events.remove();
        if (event.node() != this.killed) {
          long next = this.nodes.get(event.node()).step(event.instant());
          this.events.add(new Event(next, event.node()));
        }
      }
    }

    private long renewNanos() {
      return this.settings.renewInterval().toNanos();
    }
  }
}
