package io.election.autoconfigure;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A disabled election: this process counts as leader until {@link #lostLeader()} is called. */
final class DisabledElectionService implements ElectionService {

  private final String serviceId;

  private final Supplier<String> nodeId;

  private final Consumer<LeadershipEvent> listener;

  private boolean running;

  private volatile @Nullable Instant leadsSince = Instant.now();

  DisabledElectionService(
      String serviceId, Supplier<String> nodeId, Consumer<LeadershipEvent> listener) {
    this.serviceId = serviceId;
    this.nodeId = nodeId;
    this.listener = listener;
  }

  synchronized void start() {
    this.running = true;
    this.leadsSince = Instant.now();
    report(acquired());
  }

  /**
   * Stops delivering events. This process still counts as leader, since no other process can lead.
   */
  synchronized void stop() {
    if (isLeader()) {
      report(lost(LeadershipLostEvent.Reason.STOPPED));
    }
    this.running = false;
  }

  @Override
  public boolean isLeader() {
    return this.leadsSince != null;
  }

  @Override
  public synchronized void becomeLeader() {
    if (!isLeader()) {
      this.leadsSince = Instant.now();
      report(acquired());
    }
  }

  @Override
  public synchronized void lostLeader() {
    if (isLeader()) {
      this.leadsSince = null;
      report(lost(LeadershipLostEvent.Reason.RESIGNED));
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
        "Election '%s' is disabled by as.election.enabled=false: this process counts as leader"
            .formatted(this.serviceId));
  }

  private LeadershipAcquiredEvent acquired() {
    return new LeadershipAcquiredEvent(
        this.serviceId, nodeId(), 0, LeadershipAcquiredEvent.Reason.ALLOCATED);
  }

  private LeadershipLostEvent lost(LeadershipLostEvent.Reason reason) {
    return new LeadershipLostEvent(this.serviceId, nodeId(), 0, reason);
  }

  private void report(LeadershipEvent event) {
    if (this.running) {
      this.listener.accept(event);
    }
  }
}
