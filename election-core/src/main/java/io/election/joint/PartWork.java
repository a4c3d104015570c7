package io.election.joint;

import io.election.lease.LeaderWork;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Leader work as one part sees it: also what later parts still hold.
 *
 * @param part the index of the part
 * @param list the names of all parts
 * @param elections the elections by their names
 * @param work the leader work of all parts
 * @param wakeUp wakes the elector
 */
record PartWork(
    int part,
    String list,
    Function<String, @Nullable JointElection> elections,
    LeaderWork work,
    Runnable wakeUp)
    implements LeaderWork {

  @Override
  public boolean isRunning(String serviceId) {
    return keeps(serviceId, this.work.isRunning(serviceId));
  }

  private boolean keeps(String serviceId, boolean working) {
    JointElection election = this.elections.apply(serviceId);
    return election != null ? election.keeps(this.part, working) : working;
  }

  @Override
  public List<String> describe(String serviceId) {
    List<String> names = this.work.describe(serviceId);
    return names.isEmpty() && keeps(serviceId, false)
        ? List.of("later parts of " + this.list)
        : names;
  }

  @Override
  public void onLeaseOver(String serviceId, long term) {
    try {
      this.work.onLeaseOver(serviceId, term);
    } finally {
      this.wakeUp.run();
    }
  }
}
