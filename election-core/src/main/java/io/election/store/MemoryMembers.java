package io.election.store;

import io.election.Member;
import io.election.store.ElectionDirectory.Announcement;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The members of a {@link MemoryLeaseStore}. Thread-safe. */
final class MemoryMembers {

  private record Entry(Announcement announcement, Instant since, Instant lastSeen) {

    boolean isMember(String serviceId, Instant now) {
      Instant end = this.lastSeen.plus(this.announcement.lease().multipliedBy(3));
      return this.announcement.serviceIds().contains(serviceId) && now.isBefore(end);
    }

    Member member(String serviceId) {
      return new Member(
          this.announcement.nodeId(),
          this.since,
          this.lastSeen,
          this.announcement.eligible(),
          this.announcement.paused().contains(serviceId),
          this.announcement.version(),
          this.announcement.algorithm(),
          this.announcement.positions().getOrDefault(serviceId, ""),
          this.announcement.lease(),
          this.announcement.label());
    }
  }

  private final Map<String, Entry> entries = new TreeMap<>();

  synchronized void announce(Announcement self, Instant now) {
    Entry before = this.entries.remove(self.nodeId());
    if (!self.serviceIds().isEmpty()) {
      Instant since = before != null ? before.since() : now;
      this.entries.put(self.nodeId(), new Entry(self, since, now));
    }
  }

  synchronized Map<String, List<Member>> read(Set<String> serviceIds, Instant now) {
    Map<String, List<Member>> members = new LinkedHashMap<>();
    for (String id : serviceIds) {
      members.put(
          id,
          this.entries.values().stream()
              .filter((entry) -> entry.isMember(id, now))
              .sorted(Comparator.comparing(Entry::since))
              .map((entry) -> entry.member(id))
              .toList());
    }
    return members;
  }
}
