package io.election.autoconfigure;

import io.election.ElectionService;

/** An application's own service, as small as can be. */
class SwitchedElection implements ElectionService {

  private volatile boolean leader;

  @Override
  public boolean isLeader() {
    return this.leader;
  }

  @Override
  public void becomeLeader() {
    this.leader = true;
  }

  @Override
  public void lostLeader() {
    this.leader = false;
  }
}
