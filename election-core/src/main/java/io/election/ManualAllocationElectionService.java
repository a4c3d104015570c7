package io.election;

import io.election.LeadershipLostEvent.Reason;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An election that the configuration decides: the allocated node leads while it runs.
 *
 * <p>It is only as safe as the configuration of the nodes is consistent: if the configuration
 * allocates leadership to two nodes, both lead. There are no terms and no lease. After
 * {@link #lostLeader()} the node does not lead until {@link #becomeLeader()} is called or the node
 * is restarted.
 *
 * <p>A {@linkplain #disabled disabled} election is allocated to each process, and counts it as
 * leader even while it does not run, since no other process can lead.
 *
 * <p>Thread-safe. Can be restarted after a stop.
 */
public final class ManualAllocationElectionService implements ElectionOperations {

  private static final Logger log = LoggerFactory.getLogger(ManualAllocationElectionService.class);

  private final String serviceId;

  private final String leaderId;

  private final Supplier<String> nodeId;

  private final Predicate<String> isThisNode;

  private final Consumer<LeadershipEvent> listener;

  private final InstantSource clock;

  private final boolean disabled;

  private boolean running;

  private boolean allocated;

  /** {@code null} while this node does not lead. */
  private volatile @Nullable Instant leadsSince;

  /**
   * Creates the service. No node leads before {@link #start()}.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param leaderId the node id, host name or address of the allocated leader
   * @param nodeId supplies the id of this node; called once the port of a web server is known
   * @param isThisNode tests whether a node id, host name or address denotes this node; called once
   *     per start, may resolve names
   * @param listener receives all events in order, on the thread that caused them; its exceptions
   *     are logged
   * @param clock the wall clock; {@code InstantSource.system()} in production
   * @throws IllegalArgumentException if the name of the election cannot be used
   */
  public ManualAllocationElectionService(
      String serviceId,
      String leaderId,
      Supplier<String> nodeId,
      Predicate<String> isThisNode,
      Consumer<LeadershipEvent> listener,
      InstantSource clock) {
    this(serviceId, leaderId, nodeId, isThisNode, listener, clock, false);
  }

  private ManualAllocationElectionService(
      String serviceId,
      String leaderId,
      Supplier<String> nodeId,
      Predicate<String> isThisNode,
      Consumer<LeadershipEvent> listener,
      InstantSource clock,
      boolean disabled) {
    this.serviceId = Names.requireUsable("service id", serviceId);
    this.leaderId = leaderId;
    this.nodeId = nodeId;
    this.isThisNode = isThisNode;
    this.listener = listener;
    this.clock = clock;
    this.disabled = disabled;
    this.allocated = disabled;
    this.leadsSince = disabled ? clock.instant() : null;
  }

  /**
   * Creates the service of a disabled election: this process counts as leader, from now on and after
   * a stop too, until {@link #lostLeader()} is called. Events are delivered while it runs.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param nodeId supplies the id of this node
   * @param listener receives all events in order, on the thread that caused them; its exceptions
   *     are logged
   * @param clock the wall clock; {@code InstantSource.system()} in production
   * @return the service
   * @throws IllegalArgumentException if the name of the election cannot be used
   */
  public static ManualAllocationElectionService disabled(
      String serviceId,
      Supplier<String> nodeId,
      Consumer<LeadershipEvent> listener,
      InstantSource clock) {
    return new ManualAllocationElectionService(
        serviceId, "", nodeId, (leaderId) -> true, listener, clock, true);
  }

  /** Starts to lead if this node is the allocated leader. Does nothing if already started. */
  public synchronized void start() {
    if (this.running) {
      return;
    }
    this.running = true;
    this.allocated = this.isThisNode.test(this.leaderId);
    if (this.allocated) {
      lead();
    } else {
      log.info(
          "election '{}' is led by {} by manual allocation; node {} follows",
          this.serviceId,
          this.leaderId,
          nodeId());
    }
  }

  /** Stops leading, unless the election is disabled. Does nothing if not started. */
  public synchronized void stop() {
    if (this.running) {
      this.running = false;
      if (isLeader()) {
        this.leadsSince = this.disabled ? this.leadsSince : null;
        lost(Reason.STOPPED);
      }
    }
  }

  @Override
  public boolean isLeader() {
    return this.leadsSince != null;
  }

  /**
   * Starts to lead if this node is the allocated leader; otherwise does nothing.
   *
   * @throws IllegalStateException if the node is not running, unless the election is disabled
   */
  @Override
  public synchronized void becomeLeader() {
    if (!this.running && !this.disabled) {
      throw new IllegalStateException(
          "Election '%s' is not running on this node".formatted(this.serviceId));
    }
    if (this.allocated && !isLeader()) {
      lead();
    }
  }

  @Override
  public synchronized void lostLeader() {
    if (isLeader()) {
      this.leadsSince = null;
      if (this.running) {
        lost(Reason.RESIGNED);
      }
    }
  }

  @Override
  public String serviceId() {
    return this.serviceId;
  }

  @Override
  public String nodeId() {
    return this.nodeId.get();
  }

  @Override
  public Optional<Leadership> leadership() {
    Instant since = this.leadsSince;
    return since != null
        ? Optional.of(new Leadership(0, since, Leadership.UNLIMITED))
        : Optional.empty();
  }

  /**
   * Returns this node while it leads. On another node, returns the configured leader while it runs.
   */
  @Override
  public Optional<String> leaderId() {
    if (isLeader()) {
      return Optional.of(nodeId());
    }
    synchronized (this) {
      return this.running && !this.allocated ? Optional.of(this.leaderId) : Optional.empty();
    }
  }

  @Override
  public void designate(String leaderId) {
    throw undecidable();
  }

  @Override
  public void forceElection() {
    throw undecidable();
  }

  @Override
  public void forceElection(AuditNote auditNote, ExpectedLeader expected) {
    throw undecidable();
  }

  @Override
  public void pause(AuditNote auditNote) {
    throw undecidable();
  }

  @Override
  public void resume(AuditNote auditNote) {
    throw undecidable();
  }

  private UnsupportedOperationException undecidable() {
    return new UnsupportedOperationException(
        this.disabled
            ? "Election '%s' is disabled: this process counts as leader".formatted(this.serviceId)
            : "The leader of election '%s' is allocated by as.election.manual.leader-id (%s): change it there and restart the nodes"
                .formatted(this.serviceId, this.leaderId));
  }

  private void lead() {
    this.leadsSince = this.clock.instant();
    if (!this.disabled) {
      log.info(
          "become leader by manual allocation: election '{}', node {}", this.serviceId, nodeId());
    }
    if (this.running) {
      report(new LeadershipAcquiredEvent(
          this.serviceId, nodeId(), 0, LeadershipAcquiredEvent.Reason.ALLOCATED));
    }
  }

  private void lost(Reason reason) {
    if (!this.disabled) {
      log.info(
          "lost leader by manual allocation: election '{}', node {} ({})",
          this.serviceId,
          nodeId(),
          reason);
    }
    report(new LeadershipLostEvent(this.serviceId, nodeId(), 0, reason));
  }

  private void report(LeadershipEvent event) {
    try {
      this.listener.accept(event);
    } catch (Throwable ex) {
      log.error("a listener failed on {}", event, ex);
    }
  }
}
