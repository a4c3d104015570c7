package io.election.autoconfigure;

import io.election.ElectionService;
import org.springframework.beans.factory.ListableBeanFactory;

/** A minimal service of an application. */
public class SwitchedElection implements ElectionService {

  private volatile boolean leader;

  /** Creates the registry that the auto-configuration creates for such beans. */
  public static Elections registry(ListableBeanFactory beans) {
    return new Elections(beans);
  }

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
