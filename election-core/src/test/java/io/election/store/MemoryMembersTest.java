package io.election.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Member;
import io.election.store.ElectionDirectory.Announcement;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MemoryMembersTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private final MemoryMembers members = new MemoryMembers();

  private void announce(String id, Instant now, String... elections) {
    this.members.announce(
        new Announcement(
            id, Set.of(elections), Set.of("mail"), false, LEASE, "1.0", "memory", Map.of(), "prod"),
        now);
  }

  @Test
  void nodesAreMembersForThreeLeasesAndUntilTheyWithdraw() {
    Instant first = Instant.EPOCH;
    Instant second = first.plusSeconds(5);
    announce("b", first, "jobs", "mail");
    announce("a", second, "jobs");
    announce("b", second, "jobs", "mail");

    assertThat(this.members.read(Set.of("jobs"), second).get("jobs"))
        .extracting(Member::nodeId)
        .containsExactly("b", "a");
    assertThat(this.members.read(Set.of("mail"), second).get("mail"))
        .containsExactly(
            new Member("b", first, second, false, true, "1.0", "memory", "", LEASE, "prod"));
    Instant end = second.plus(LEASE.multipliedBy(3));
    assertThat(this.members.read(Set.of("mail"), end.minusNanos(1)).get("mail")).hasSize(1);
    assertThat(this.members.read(Set.of("mail"), end).get("mail")).isEmpty();

    announce("b", second);
    assertThat(this.members.read(Set.of("jobs"), second).get("jobs")).hasSize(1);
  }
}
