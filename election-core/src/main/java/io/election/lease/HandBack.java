package io.election.lease;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The end of a run that was stopped: decides how long it continues to hand leases back, and logs
 * the work for which leases are kept. Used by the elector's thread.
 */
final class HandBack {

  private static final long REMINDER_NANOS = Duration.ofMinutes(1).toNanos();

  private final ElectorContext context;

  private final Node node;

  private final List<Candidate> candidates;

  /** Since when there has been no leader work to wait for. */
  private @Nullable Long idleSince;

  /** When the work was last logged. */
  private @Nullable Long namedAt;

  /** Whose leases had run out when the work was last logged. */
  private Set<Candidate> runOut = Set.of();

  HandBack(ElectorContext context, Node node, List<Candidate> candidates) {
    this.context = context;
    this.node = node;
    this.candidates = candidates;
  }

  /** Returns whether nothing is left to hand back, or the store does not answer. */
  boolean isOver() {
    if (!isHandingBack()) {
      return true;
    }
    if (shouldGiveUp()) {
      this.context.log().notHandedBack();
      return true;
    }
    return false;
  }

  boolean isHandingBack() {
    return this.candidates.stream().anyMatch(Candidate::isDraining);
  }

  /**
   * Returns whether to give up: leases are still held two operation timeouts after leader work has
   * ended. A store that does not answer must not delay the end of the process.
   */
  private boolean shouldGiveUp() {
    if (this.candidates.stream()
        .anyMatch((candidate) -> this.context.work().isRunning(candidate.serviceId()))) {
      this.idleSince = null;
      return false;
    }
    long now = this.context.now();
    if (this.idleSince == null) {
      this.idleSince = now;
    }
    return now - this.idleSince
        > this.context.settings().operationTimeout().multipliedBy(2).toNanos();
  }

  /**
   * Logs the work for which leases are kept, or have run out because the store does not answer: once
   * a minute, and when either becomes the other.
   */
  void remind() {
    Clocks.Reading reading = this.context.clocks().read();
    Set<Candidate> runOut = this.candidates.stream()
        .filter((candidate) ->
            candidate.keepsLeaseAfterStop() && !candidate.candidacy().keepsLease(reading))
        .collect(Collectors.toSet());
    Set<Candidate> before = this.runOut;
    if (this.namedAt == null
        || reading.now() - this.namedAt >= REMINDER_NANOS
        || !runOut.equals(before)) {
      this.namedAt = reading.now();
      this.runOut = runOut;
      nameWork((candidate, work) -> {
        if (runOut.contains(candidate)) {
          givenUp(candidate, work);
        } else if (candidate.keepsLeaseAfterStop()) {
          this.context
              .log()
              .keeps(candidate.serviceId(), this.node.id(), work, before.contains(candidate));
        }
      });
    }
  }

  /** Logs the work that continues without a lease. */
  void giveUp() {
    nameWork(this::givenUp);
  }

  private void givenUp(Candidate candidate, List<String> work) {
    this.context.log().givenUp(candidate.serviceId(), this.node.id(), work);
  }

  private void nameWork(BiConsumer<Candidate, List<String>> log) {
    for (Candidate candidate : this.candidates) {
      List<String> work = candidate.runningWork();
      if (!work.isEmpty()) {
        log.accept(candidate, work);
      }
    }
  }
}
