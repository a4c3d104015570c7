package io.election.lease;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.Member;
import io.election.Names;
import io.election.PastTerm;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** A node's part in an election that an {@link Elector} runs. Thread-safe. */
public final class LeaseElectionService extends Elector.Part implements ElectionOperations {

  private final Commands commands;

  /**
   * Creates the service. It takes part in the election while the elector runs.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param elector the elector that runs it
   * @throws IllegalArgumentException if the name cannot be used
   */
  public LeaseElectionService(String serviceId, Elector elector) {
    super(elector.candidate(serviceId));
    this.commands = new Commands(candidate(), elector);
  }

  @Override
  public boolean isLeader() {
    return candidate().isLeader();
  }

  @Override
  public void becomeLeader() throws Exception {
    this.commands.attempt();
  }

  @Override
  public void lostLeader() {
    this.commands.resign();
  }

  @Override
  public String serviceId() {
    return candidate().serviceId();
  }

  @Override
  public String nodeId() {
    return candidate().nodeId();
  }

  @Override
  public Optional<Leadership> leadership() {
    return candidate().leadership();
  }

  /**
   * Returns how long ago this node sent the last confirmed renewal, or took the lease. Local.
   *
   * @return the age; empty on a follower
   */
  public Optional<Duration> renewalAge() {
    return candidate().renewalAge();
  }

  /**
   * Returns the setting that bounds a call to the store. Local.
   *
   * @return the operation timeout
   */
  public Duration operationTimeout() {
    return candidate().operationTimeout();
  }

  /**
   * Returns for how long the lease still protects leader work if no further renewal succeeds: while
   * this node leads, and while it waits for running work to end after that, for at most the drain
   * timeout. Local.
   *
   * @return the time; empty if no work is protected
   */
  public Optional<Duration> leaseRemaining() {
    return candidate().leaseRemaining();
  }

  @Override
  public Optional<String> moved() {
    return candidate().moved();
  }

  @Override
  public Optional<String> leaderId() {
    return candidate().leaderId();
  }

  @Override
  public OptionalLong term() {
    return candidate().term();
  }

  @Override
  public Optional<Duration> leaderLease() {
    return candidate().leaderLease();
  }

  @Override
  public void designate(String leaderId) throws Exception {
    this.commands.designate(Names.requireNodeId("leader id", leaderId), null);
  }

  @Override
  public void designate(String leaderId, AuditNote auditNote) throws Exception {
    this.commands.designate(Names.requireNodeId("leader id", leaderId), auditNote);
  }

  @Override
  public void forceElection() throws Exception {
    this.commands.forceElection(null, null);
  }

  @Override
  public void forceElection(AuditNote auditNote) throws Exception {
    this.commands.forceElection(auditNote, null);
  }

  @Override
  public void forceElection(AuditNote auditNote, ExpectedLeader expected) throws Exception {
    this.commands.forceElection(auditNote, expected);
  }

  @Override
  public void pause(AuditNote auditNote) {
    this.commands.pause(auditNote);
  }

  @Override
  public void resume(AuditNote auditNote) {
    this.commands.resume(auditNote);
  }

  @Override
  public Optional<AuditNote> paused() {
    return candidate().paused();
  }

  @Override
  public List<PastTerm> history() {
    return candidate().history();
  }

  @Override
  public Optional<List<Member>> members() {
    return this.commands.members();
  }

  @Override
  public Optional<List<Member>> currentMembers() throws InterruptedException {
    return this.commands.currentMembers();
  }
}
