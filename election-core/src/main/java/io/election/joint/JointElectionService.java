package io.election.joint;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.LeadershipLostEvent.Reason;
import io.election.Member;
import io.election.PastTerm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A node's part in an election by a list, which a {@link JointElector} runs. Thread-safe. */
public final class JointElectionService implements ElectionService {

  private static final int HISTORY_LENGTH = 10;

  private final JointElection election;

  private final JointElector elector;

  JointElectionService(JointElection election, JointElector elector) {
    this.election = election;
    this.elector = elector;
  }

  JointElection election() {
    return this.election;
  }

  /** A call to one part, which may fail. */
  private interface Call {

    void on(ElectionService part) throws Exception;
  }

  @Override
  public boolean isLeader() {
    return this.election.isLeader();
  }

  /**
   * Makes one attempt at each part in turn, as far as it gets. Returns normally if another node
   * holds a part.
   */
  @Override
  public void becomeLeader() throws Exception {
    for (int i = 0; i < this.election.parts().size(); i++) {
      this.election.step();
      ElectionService part = this.election.parts().get(i).service();
      if (i > 0 && !this.election.mayStand(i)) {
        break;
      }
      part.becomeLeader();
    }
    this.elector.wakeUp();
    this.election.step();
  }

  @Override
  public void lostLeader() {
    command(
        Reason.RESIGNED, null, (part) -> part.handBack(this.elector.settings().leaseDuration()));
  }

  private void command(Reason reason, @Nullable AuditNote pause, Consumer<LeasePart> command) {
    this.election.command(reason, pause, command);
    this.election.step();
    this.elector.wakeUp();
  }

  @Override
  public String serviceId() {
    return this.election.serviceId();
  }

  @Override
  public String nodeId() {
    return this.election.nodeId();
  }

  @Override
  public Optional<Leadership> leadership() {
    return this.election.leadership();
  }

  /**
   * Returns how long ago this node sent the last confirmed renewal in the part where that is longest
   * ago. Local.
   *
   * @return the age; empty on a follower
   */
  public Optional<Duration> renewalAge() {
    return isLeader()
        ? this.election.leases().stream()
            .flatMap((part) -> part.service().renewalAge().stream())
            .max(Comparator.naturalOrder())
        : Optional.empty();
  }

  /** Returns the leader that the last lease shows which has one. */
  @Override
  public Optional<String> leaderId() {
    return isLeader()
        ? Optional.of(nodeId())
        : this.election.shown().flatMap((part) -> part.service().leaderId());
  }

  @Override
  public OptionalLong term() {
    Optional<Leadership> own = leadership();
    return own.isPresent()
        ? OptionalLong.of(own.get().term())
        : this.election.shown().map((part) -> part.service().term()).orElse(OptionalLong.empty());
  }

  /** Returns the longest lease that the leader holds. */
  @Override
  public Optional<Duration> leaderLease() {
    Optional<String> leader = leaderId();
    return this.election.leases().stream()
        .map(LeasePart::service)
        .filter((part) -> leader.isPresent() && part.leaderId().equals(leader))
        .flatMap((part) -> part.leaderLease().stream())
        .max(Comparator.naturalOrder());
  }

  @Override
  public void designate(String leaderId) throws Exception {
    handOver(leaderId, (part) -> part.designate(leaderId));
  }

  @Override
  public void designate(String leaderId, AuditNote auditNote) throws Exception {
    handOver(leaderId, (part) -> part.designate(leaderId, auditNote));
  }

  private void handOver(String leaderId, Call call) throws Exception {
    if (!isLeader() || !leaderId.equals(nodeId())) {
      change(Reason.HANDED_OVER, call);
    }
  }

  @Override
  public void forceElection() throws Exception {
    change(Reason.RESIGNED, ElectionService::forceElection);
  }

  @Override
  public void forceElection(AuditNote auditNote) throws Exception {
    change(Reason.RESIGNED, (part) -> part.forceElection(auditNote));
  }

  @Override
  public void forceElection(AuditNote auditNote, ExpectedLeader expected) throws Exception {
    if (isLeader()) {
      expected.require(serviceId(), nodeId(), term());
      change(Reason.RESIGNED, (part) -> part.forceElection(auditNote));
      return;
    }
    // The part that shows the leader: its loss ends the leadership in all parts.
    Optional<LeasePart> shown = this.election.shown();
    if (shown.isEmpty()) {
      expected.require(serviceId(), null, OptionalLong.empty());
      forceElection(auditNote);
    } else {
      shown.get().service().forceElection(auditNote, expected);
    }
  }

  /**
   * Changes the leader in all parts that can: the last one first on the leader, the first one first
   * on another node, so that the next leader finds all parts open.
   */
  private void change(Reason reason, Call call) throws Exception {
    List<LeasePart> leases = this.election.leases();
    if (leases.isEmpty()) {
      throw new UnsupportedOperationException(
          "No part of election '%s' can change its leader at run time".formatted(serviceId()));
    }
    if (isLeader()) {
      List<Exception> failed = new ArrayList<>();
      command(reason, null, (part) -> {
        try {
          call.on(part.service());
        } catch (Exception ex) {
          failed.add(ex);
        }
      });
      if (!failed.isEmpty()) {
        throw failed.get(0);
      }
      return;
    }
    Exception failure = null;
    boolean changed = false;
    for (LeasePart part : leases) {
      try {
        call.on(part.service());
        changed = true;
      } catch (IllegalStateException ex) {
        // This part has no record yet, which is normal while nodes move to it.
        failure = ex;
      }
    }
    if (!changed && failure != null) {
      throw failure;
    }
  }

  @Override
  public void pause(AuditNote auditNote) {
    command(Reason.PAUSED, auditNote, (part) -> part.service().pause(auditNote));
  }

  @Override
  public void resume(AuditNote auditNote) {
    this.election.resume((part) -> part.service().resume(auditNote));
    this.elector.wakeUp();
  }

  @Override
  public Optional<AuditNote> paused() {
    return this.election.paused();
  }

  @Override
  public Optional<String> moved() {
    return this.election.leases().stream()
        .map((part) -> part.service().moved())
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** Returns the last terms of all parts, which share their numbers. */
  @Override
  public List<PastTerm> history() {
    Map<Long, PastTerm> terms = new LinkedHashMap<>();
    for (LeasePart part : this.election.leases()) {
      part.service().history().forEach((term) -> terms.put(term.term(), term));
    }
    return terms.values().stream()
        .sorted(Comparator.comparing(PastTerm::term).reversed())
        .limit(HISTORY_LENGTH)
        .toList();
  }

  /** Returns the members of all parts. */
  @Override
  public Optional<List<Member>> members() {
    return union(
        this.election.leases().stream().map((part) -> part.service().members()).toList());
  }

  @Override
  public Optional<List<Member>> currentMembers() throws InterruptedException {
    List<Optional<List<Member>>> all = new ArrayList<>();
    for (LeasePart part : this.election.leases()) {
      all.add(part.service().currentMembers());
    }
    return union(all);
  }

  private static Optional<List<Member>> union(List<Optional<List<Member>>> all) {
    Map<String, Member> members = new LinkedHashMap<>();
    all.forEach((part) -> part.ifPresent(
        (known) -> known.forEach((member) -> members.putIfAbsent(member.nodeId(), member))));
    return all.stream().allMatch(Optional::isEmpty)
        ? Optional.empty()
        : Optional.of(List.copyOf(members.values()));
  }
}
