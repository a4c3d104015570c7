package io.election.test;

import io.election.ElectionOperations;
import io.election.LeadershipEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.MemoryLeaseStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * An election of several nodes in one process, with a clock that only the test advances.
 *
 * <p>The nodes are production nodes over an in-memory store: the same protocol, deadlines, terms
 * and events. Everything happens in {@link #advance}, {@link #join} and the methods of a node, on
 * the calling thread, and in the same order each time.
 *
 * <p>Thread-safe.
 */
public final class SimulatedElection {

  private static final Duration SHORTEST_STEP = Duration.ofMillis(1);

  private final LeaseStore store = new MemoryLeaseStore(this::wall);

  private final List<Node> nodes = new ArrayList<>();

  private final String serviceId;

  private final LeaseSettings settings;

  private volatile Duration time = Duration.ZERO;

  /**
   * Creates an election without nodes.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param leaseDuration how long a leader may continue without a renewal, from 10 ms to one hour;
   *     it renews five times per lease
   * @throws IllegalArgumentException if the lease cannot be used
   */
  public SimulatedElection(String serviceId, Duration leaseDuration) {
    this.serviceId = serviceId;
    this.settings = new LeaseSettings(
        leaseDuration,
        leaseDuration.dividedBy(5),
        leaseDuration.dividedBy(10),
        Duration.ZERO,
        true);
  }

  /**
   * Adds a node to the election. The first node of an election leads after one lease.
   *
   * @param nodeId the id of the node; 1 to 128 characters
   * @param listener receives its events, in order; with Spring, {@code events::publishEvent} of the
   *     {@code ApplicationEventPublisher}
   * @return the node
   * @throws IllegalArgumentException if the name of the election or the node id cannot be used
   */
  public synchronized Node join(String nodeId, Consumer<? super LeadershipEvent> listener) {
    Node node = new Node(nodeId, listener);
    this.nodes.add(node);
    node.step();
    return node;
  }

  /**
   * Advances the clock. Meanwhile all nodes do what is due, when it is due.
   *
   * @param duration how far to advance; not negative
   */
  public synchronized void advance(Duration duration) {
    Duration end = this.time.plus(duration);
    Duration pause = step();
    while (this.time.compareTo(end) < 0) {
      Duration next = this.time.plus(pause);
      this.time = next.compareTo(end) < 0 ? next : end;
      pause = step();
    }
  }

  private Instant wall() {
    return Instant.EPOCH.plus(this.time);
  }

  /** Lets each node do what is due, and returns how long nothing will be due. */
  private Duration step() {
    Duration pause = LeaseSettings.MAX_LEASE;
    for (Node node : List.copyOf(this.nodes)) {
      Duration wanted = node.step();
      pause = wanted.compareTo(pause) < 0 ? wanted : pause;
    }
    return pause.compareTo(SHORTEST_STEP) > 0 ? pause : SHORTEST_STEP;
  }

  /** A node, which behaves like a process of its own. */
  public final class Node {

    private final Elector elector;

    private final LeaseElectionService service;

    private boolean paused;

    private Node(String nodeId, Consumer<? super LeadershipEvent> listener) {
      this.elector = new Elector(
          SimulatedElection.this.store,
          SimulatedElection.this.settings,
          () -> nodeId,
          (serviceId) -> false,
          listener::accept,
          () -> SimulatedElection.this.time.toNanos(),
          SimulatedElection.this::wall);
      this.service = new LeaseElectionService(SimulatedElection.this.serviceId, this.elector);
      this.elector.join(List.of(this.service));
    }

    /**
     * Returns the node's part in the election, for instance for use as a bean of the application
     * under test.
     *
     * @return the same instance each time
     */
    public ElectionOperations election() {
      return this.service;
    }

    /**
     * Pauses the node, like a process that was killed or gets no CPU time: nothing is renewed or
     * handed back, and no event is delivered.
     */
    public void pause() {
      synchronized (SimulatedElection.this) {
        this.paused = true;
      }
    }

    /** Resumes the node after {@link #pause()}, and lets it do what is due by now. */
    public void resume() {
      synchronized (SimulatedElection.this) {
        this.paused = false;
        step();
      }
    }

    /**
     * Removes the node from the election, and hands its lease back, like a process that is stopped.
     */
    public void stop() {
      synchronized (SimulatedElection.this) {
        SimulatedElection.this.nodes.remove(this);
        this.elector.stop();
      }
    }

    private Duration step() {
      return this.paused ? LeaseSettings.MAX_LEASE : Duration.ofNanos(this.elector.step());
    }
  }
}
