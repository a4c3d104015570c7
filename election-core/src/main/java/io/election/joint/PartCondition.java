package io.election.joint;

import io.election.lease.Precedence;
import io.election.lease.StandingCondition;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Whether this node stands for one part.
 *
 * @param part the index of the part
 * @param algorithm the names of all parts
 * @param elections the elections by their names
 * @param first who goes first in the election of the first part
 */
record PartCondition(
    int part,
    String algorithm,
    Function<String, @Nullable JointElection> elections,
    Precedence first)
    implements StandingCondition {

  @Override
  public boolean mayStand(String serviceId) {
    JointElection election = this.elections.apply(serviceId);
    return election != null && election.mayStand(this.part);
  }

  @Override
  public long aboveTerm(String serviceId) {
    JointElection election = this.elections.apply(serviceId);
    return election != null ? election.aboveTerm(this.part) : 0;
  }

  @Override
  public Precedence precedence() {
    return this.part == 0 ? this.first : Precedence.NONE;
  }
}
