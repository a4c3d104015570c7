package io.election.autoconfigure;

import io.election.ElectionService;
import org.springframework.beans.factory.ListableBeanFactory;

/** An application's own service, as small as can be. */
public class SwitchedElection implements ElectionService {

  private volatile boolean leader;

  /** The registry that the auto-configuration makes of such beans. */
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
