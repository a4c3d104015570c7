package io.election.lease;

import io.election.Member;
import io.election.Names;
import io.election.lease.ElectionDirectory.Announcement;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Announces this node once per lease, and caches the other members, if the store has a
 * {@link ElectionDirectory}. Used by the elector's thread; {@link #known} by any thread.
 */
final class Members {

  /**
   * Above this number of members a node reads them less often than it announces itself, because
   * each node reads all others.
   */
  private static final int READ_EACH_TIME = 100;

  private static final String VERSION =
      Objects.requireNonNullElse(Members.class.getPackage().getImplementationVersion(), "");

  private final @Nullable ElectionDirectory directory;

  private final LeaseSettings settings;

  private final ElectionLog log;

  private volatile @Nullable Map<String, List<Member>> known;

  private @Nullable Long dueAt;

  /** The number of announcements until the next read. */
  private int unread;

  private boolean isToBeRead;

  private @Nullable String announced;

  Members(LeaseStore store, LeaseSettings settings, ElectionLog log) {
    this.directory = store instanceof ElectionDirectory directory ? directory : null;
    this.settings = settings;
    this.log = log;
  }

  /**
   * Announces this node or reads the members with one call, if either is due.
   *
   * @return whether there was something to do
   */
  boolean tend(Collection<Candidate> candidates, long now) {
    boolean announces = this.dueAt == null || now - this.dueAt >= 0;
    if (this.directory == null || candidates.isEmpty() || (!announces && !this.isToBeRead)) {
      return false;
    }
    try {
      if (announces) {
        // Set before the call: the next announcement follows a lease later, even if this one fails.
        this.dueAt = now + this.settings.leaseDuration().toNanos();
        announce(this.directory, candidates);
      } else {
        this.isToBeRead = false;
        read(candidates);
        this.log.membersKnown();
      }
    } catch (LeaseStoreException | RuntimeException ex) {
      this.isToBeRead = false;
      this.unread = 0;
      this.known = null;
      this.log.membersUnknown(ex);
    }
    return true;
  }

  private void announce(ElectionDirectory directory, Collection<Candidate> candidates)
      throws LeaseStoreException {
    String nodeId = candidates.iterator().next().nodeId();
    // Set before the call: the entry may exist even if the answer is lost.
    this.announced = nodeId;
    directory.announce(new Announcement(
        nodeId,
        ids(candidates),
        candidates.stream()
            .filter((candidate) -> candidate.paused().isPresent())
            .map(Candidate::serviceId)
            .collect(Collectors.toCollection(LinkedHashSet::new)),
        this.settings.eligible(),
        this.settings.leaseDuration(),
        VERSION));
    this.isToBeRead = this.unread == 0;
    this.unread = Math.max(0, this.unread - 1);
  }

  /** Reads the members of all elections of this node with one call. */
  void read(Collection<Candidate> candidates) throws LeaseStoreException {
    if (this.directory == null) {
      return;
    }
    Map<String, List<Member>> found = this.directory.members(ids(candidates));
    Map<String, List<Member>> members = new LinkedHashMap<>();
    int most = 0;
    for (Candidate candidate : candidates) {
      List<Member> ofOne = found.getOrDefault(candidate.serviceId(), List.of()).stream()
          .map(Members::printable)
          .toList();
      members.put(candidate.serviceId(), ofOne);
      most = Math.max(most, ofOne.size());
    }
    this.unread = most / READ_EACH_TIME;
    this.known = members;
  }

  /** Returns whether the store has a directory. */
  boolean canBeRead() {
    return this.directory != null;
  }

  /** Returns the members of an election that were read last; empty if they are not known. */
  Optional<List<Member>> known(String serviceId) {
    Map<String, List<Member>> known = this.known;
    return Optional.ofNullable(known).map((members) -> members.get(serviceId));
  }

  /**
   * Deletes this node's entry, if there is one. If the call fails, the entry expires after three
   * leases.
   */
  void withdraw() {
    String nodeId = this.announced;
    this.announced = null;
    if (this.directory != null && nodeId != null) {
      try {
        this.directory.announce(new Announcement(
            nodeId, Set.of(), Set.of(), true, this.settings.leaseDuration(), VERSION));
      } catch (LeaseStoreException | RuntimeException ex) {
        this.log.notWithdrawn(ex);
      }
    }
  }

  private static Set<String> ids(Collection<Candidate> candidates) {
    return candidates.stream()
        .map(Candidate::serviceId)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /** The directory may contain any text, because others can write to it. */
  private static Member printable(Member member) {
    return new Member(
        Names.printable(member.nodeId()),
        member.since(),
        member.lastSeen(),
        member.eligible(),
        member.paused(),
        Names.printable(member.version()));
  }
}
