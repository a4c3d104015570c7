package io.election.store;

import io.election.Member;
import io.election.store.ElectionDirectory.Announcement;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The members of the store in memory, at any time. */
public final class SimulatedMembers {

  private final MemoryMembers members = new MemoryMembers();

  public void announce(Announcement self, Instant now) {
    this.members.announce(self, now);
  }

  public Map<String, List<Member>> read(Set<String> serviceIds, Instant now) {
    return this.members.read(serviceIds, now);
  }
}
