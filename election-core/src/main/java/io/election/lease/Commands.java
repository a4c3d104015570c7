package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.AuditNote;
import io.election.ExpectedLeader;
import io.election.Member;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The commands of users and operators for one election. A command that needs the store runs on the
 * elector's thread, and the caller waits for it.
 */
final class Commands {

  /** How often the record is read again if it was written in between, for instance by a renewal. */
  private static final int ATTEMPTS = 4;

  private final Candidate candidate;

  private final Elector elector;

  private final ElectionLog log;

  Commands(Candidate candidate, Elector elector) {
    this.candidate = candidate;
    this.elector = elector;
    this.log = elector.log();
  }

  /** Makes one attempt to lead, and waits for its outcome. */
  void attempt() throws Exception {
    String nodeId = this.candidate.nodeId();
    String serviceId = this.candidate.serviceId();
    if (!this.elector.settings().eligible()) {
      throw new IllegalStateException(
          "Node '%s' is not eligible to lead election '%s': set as.election.eligible=true"
              .formatted(nodeId, serviceId));
    }
    Optional<AuditNote> paused = this.candidate.paused();
    if (paused.isPresent()) {
      throw new IllegalStateException(
          "Node '%s' is paused in election '%s' by %s. Resume it with ElectionService.resume or DELETE /actuator/leader/%s/pause"
              .formatted(nodeId, serviceId, paused.get(), serviceId));
    }
    if (this.candidate.isLeader()) {
      return;
    }
    if (this.elector.waitsToBegin()) {
      throw new IllegalStateException(
          "Node '%s' does not stand for election '%s' yet: its leader work from before the last stop still runs"
              .formatted(nodeId, serviceId));
    }
    callOnElectorThread(
        () -> this.candidate.change((candidacy) -> candidacy.campaign(this.elector.now())));
  }

  void resign() {
    change((candidacy) -> candidacy.resign(null, this.elector.now()));
  }

  void designate(String leaderId, @Nullable AuditNote auditNote) throws Exception {
    String serviceId = this.candidate.serviceId();
    boolean leads = this.candidate.isLeader();
    if (leads && leaderId.equals(this.candidate.nodeId())) {
      return;
    }
    if (leads || this.candidate.keepsLeaseAfterStop()) {
      this.log.designated(serviceId, leaderId, auditNote);
      change((candidacy) -> candidacy.handOver(leaderId, auditNote, this.elector.now()));
      if (leads && this.elector.isRunning()) {
        CompletableFuture<?> unused =
            this.elector.submit(this.candidate, () -> warnIfUnknown(leaderId));
      }
      return;
    }
    callOnElectorThread(() -> {
      warnIfUnknown(leaderId);
      edit(leaderId, auditNote);
      this.log.designated(serviceId, leaderId, auditNote);
    });
  }

  void forceElection(@Nullable AuditNote auditNote, @Nullable ExpectedLeader expected)
      throws Exception {
    String serviceId = this.candidate.serviceId();
    if (this.candidate.isLeader() || this.candidate.keepsLeaseAfterStop()) {
      change((candidacy) -> {
        OptionalLong term = candidacy.state().heldTerm();
        if (expected != null) {
          expected.require(serviceId, term.isPresent() ? candidacy.node().id() : null, term);
        }
        return candidacy.resign(auditNote, this.elector.now());
      });
      // Not within the change, whose lock an appender that blocks would hold.
      this.log.forced(serviceId, auditNote);
    } else {
      callOnElectorThread(() -> {
        if (expected != null) {
          depose(expected, auditNote);
        } else {
          edit("", auditNote);
        }
        this.log.forced(serviceId, auditNote);
      });
    }
  }

  void pause(AuditNote auditNote) {
    if (!this.candidate.keepsLeaseAfterStop()) {
      this.elector.requireRunning(this.candidate);
    }
    this.log.paused(this.candidate.serviceId(), this.candidate.nodeId(), auditNote);
    change((candidacy) -> candidacy.pause(auditNote, this.elector.now()));
  }

  void resume(AuditNote auditNote) {
    if (this.candidate.paused().isPresent()) {
      this.log.resumed(this.candidate.serviceId(), this.candidate.nodeId(), auditNote);
      change((candidacy) -> candidacy.resume(this.elector.now()));
    }
  }

  /** Returns the members of the election that were read last. */
  Optional<List<Member>> members() {
    return this.elector.members().known(this.candidate.serviceId());
  }

  /** Reads the members of the election. Returns those read last if the store does not answer. */
  Optional<List<Member>> currentMembers() throws InterruptedException {
    Members members = this.elector.members();
    if (this.elector.isRunning() && members.canBeRead()) {
      try {
        callOnElectorThread(() -> members.read(this.elector.candidates()));
      } catch (InterruptedException ex) {
        throw ex;
      } catch (Exception ex) {
        this.log.membersNotRead(ex);
      }
    }
    return members.known(this.candidate.serviceId());
  }

  /**
   * Submits a task to the elector's thread, and waits until the task and its consequences are done.
   */
  private void callOnElectorThread(Inbox.Task task) throws Exception {
    Duration timeout = this.elector.settings().operationTimeout();
    CompletableFuture<?> outcome = this.elector.submit(this.candidate, task);
    if (this.elector.isStepped()) {
      this.elector.step();
    }
    try {
      outcome.get(timeout.toNanos(), NANOSECONDS);
    } catch (ExecutionException ex) {
      throw ex.getCause() instanceof Exception cause ? cause : ex;
    } catch (TimeoutException ex) {
      TimeoutException late =
          new TimeoutException("The %s store gave no answer within %s; the node keeps trying"
              .formatted(this.elector.store().name(), timeout));
      late.initCause(ex);
      throw late;
    }
  }

  private void change(UnaryOperator<Candidacy> change) {
    this.candidate.change(change);
    this.elector.wakeUp();
  }

  private void edit(String leaderId, @Nullable AuditNote auditNote) throws LeaseStoreException {
    this.candidate.moved().ifPresent((mark) -> {
      throw new IllegalStateException("Election '%s' was %s: remove the mark from the record first"
          .formatted(this.candidate.serviceId(), mark));
    });
    if (!this.elector.store().designate(this.candidate.serviceId(), leaderId, null, auditNote)) {
      throw noRecord();
    }
    this.candidate.change((candidacy) -> candidacy.readAgainAt(this.elector.now()));
  }

  /** Removes the expected leader from the record, if the record still names it when it is written. */
  private void depose(ExpectedLeader expected, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    String serviceId = this.candidate.serviceId();
    for (int i = 0; i < ATTEMPTS; i++) {
      LeaseStore.Reading reading = this.elector.store().read(Set.of(serviceId)).get(serviceId);
      if (reading == null) {
        throw noRecord();
      }
      LeaseRow row = reading.row();
      if (row.namesLeader()) {
        expected.require(serviceId, row.leaderId(), OptionalLong.of(row.term()));
      } else {
        expected.require(serviceId, null, OptionalLong.empty());
      }
      if (this.elector.store().designate(serviceId, "", row, auditNote)) {
        this.candidate.change((candidacy) -> candidacy.readAgainAt(this.elector.now()));
        return;
      }
    }
    throw new LeaseStoreException(
        "The record of election '%s' changes while it is compared. Try again".formatted(serviceId));
  }

  private IllegalStateException noRecord() {
    return new IllegalStateException(
        "Election '%s' has no record yet: the first node that stands for it creates one"
            .formatted(this.candidate.serviceId()));
  }

  private void warnIfUnknown(String leaderId) throws LeaseStoreException {
    String serviceId = this.candidate.serviceId();
    Set<String> known = new LinkedHashSet<>();
    ElectionDirectory directory = this.elector.directory();
    if (directory != null) {
      directory
          .history(Set.of(serviceId))
          .getOrDefault(serviceId, List.of())
          .forEach((entry) -> known.add(entry.leaderId()));
    }
    known.add(this.candidate.nodeId());
    members().ifPresent((members) -> members.forEach((member) -> known.add(member.nodeId())));
    if (!known.contains(leaderId)) {
      this.log.designatedUnknown(serviceId, leaderId, known);
    }
  }
}
