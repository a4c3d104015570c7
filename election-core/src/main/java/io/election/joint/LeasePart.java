package io.election.joint;

import io.election.LeadershipEvent;
import io.election.Member;
import io.election.joint.PartView.Holder;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.Standing;
import io.election.lease.StoreHealth;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A part that is a lease in a store.
 *
 * @param service this node's part in the election over that store
 * @param elector runs it
 * @param name the name of the part
 * @param list the names of all parts in their order, separated by {@link JointElector#SEPARATOR}
 */
record LeasePart(LeaseElectionService service, Elector elector, String name, String list)
    implements Part {

  @Override
  public PartView glance() {
    return view(this.service.standing(), Duration.ZERO, Holder.OTHER);
  }

  @Override
  public PartView view() {
    Duration silence = this.elector.storeHealth().map(StoreHealth::silence).orElse(Duration.ZERO);
    return view(this.service.standing(), silence, holder());
  }

  private static PartView view(Standing standing, Duration silence, Holder holder) {
    return new PartView(
        standing.leads(),
        standing.holdsLease(),
        standing.term(),
        true,
        standing.highestTerm(),
        standing.untilOpen(),
        silence,
        holder);
  }

  /** Returns whether the node that holds this part waits for one that comes earlier in our list. */
  private Holder holder() {
    Optional<String> leader = this.service.leaderId();
    if (leader.isEmpty()) {
      return Holder.OTHER;
    }
    List<String> own = names(this.list);
    for (Member member : this.service.members().orElse(List.of())) {
      List<String> other = names(member.algorithm());
      int here = other.indexOf(this.name);
      boolean waitsForUs = own.subList(0, own.indexOf(this.name)).stream()
          .anyMatch((earlier) -> here >= 0 && here < other.indexOf(earlier));
      if (member.nodeId().equals(leader.get()) && waitsForUs) {
        return member.algorithm().compareTo(this.list) < 0 ? Holder.PRECEDES : Holder.YIELDS;
      }
    }
    return Holder.OTHER;
  }

  private static List<String> names(String list) {
    return List.of(list.split(JointElector.SEPARATOR));
  }

  @Override
  public void handBack(Duration aside) {
    if (aside.isZero()) {
      this.service.handBack();
    } else {
      this.service.lostLeader();
    }
  }

  @Override
  public void wakeUp() {
    this.elector.wakeUp();
  }

  @Override
  public @Nullable LeadershipEvent lastEvent() {
    return this.service.standing().lastEvent();
  }
}
