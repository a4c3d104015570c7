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
 * Announces this node every two leases, and caches the other members, if the store is an
 * {@link ElectionDirectory}. Reads them once per lease while they are asked for, otherwise every
 * eight leases. Used by the elector's thread; {@link #known} by any thread.
 */
final class Members {

  private static final String VERSION =
      Objects.requireNonNullElse(Members.class.getPackage().getImplementationVersion(), "");

  private final @Nullable ElectionDirectory directory;

  private final LeaseSettings settings;

  private final ElectionLog log;

  private volatile @Nullable Map<String, List<Member>> known;

  private @Nullable Long dueAt;

  private @Nullable Long readAt;

  /** Whether the members were asked for since the last read, or were not read twice yet. */
  private volatile boolean wanted = true;

  private @Nullable String announced;

  Members(@Nullable ElectionDirectory directory, LeaseSettings settings, ElectionLog log) {
    this.directory = directory;
    this.settings = settings;
    this.log = log;
  }

  /**
   * Announces this node or reads the members with one call, if either is due.
   *
   * @return whether there was something to do
   */
  boolean tend(Collection<Candidate> candidates, long now) {
    if (this.directory == null || candidates.isEmpty()) {
      return false;
    }
    long lease = this.settings.leaseDuration().toNanos();
    boolean announces = this.dueAt == null || now - this.dueAt >= 0;
    boolean reads = this.readAt == null || now - this.readAt >= (this.wanted ? lease : 8 * lease);
    if (!announces && !reads) {
      return false;
    }
    try {
      if (announces) {
        // Set before the call, which may fail: an announcement is valid for three leases.
        this.dueAt = now + lease / 2;
        announce(this.directory, candidates);
        this.dueAt = now + 2 * lease;
      } else {
        this.readAt = now;
        this.wanted = this.known == null;
        read(candidates);
        this.log.membersKnown();
      }
    } catch (LeaseStoreException | RuntimeException ex) {
      this.readAt = now;
      this.known = null;
      this.wanted = true;
      this.log.membersUnknown(ex);
    }
    return this.directory != null;
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
  }

  /** Reads the members of all elections of this node with one call. */
  void read(Collection<Candidate> candidates) throws LeaseStoreException {
    if (this.directory == null) {
      return;
    }
    Map<String, List<Member>> found = this.directory.members(ids(candidates));
    Map<String, List<Member>> members = new LinkedHashMap<>();
    for (Candidate candidate : candidates) {
      members.put(
          candidate.serviceId(),
          found.getOrDefault(candidate.serviceId(), List.of()).stream()
              .map(Members::printable)
              .toList());
    }
    this.known = members;
  }

  /** Returns whether the store has a directory. */
  boolean canBeRead() {
    return this.directory != null;
  }

  /** Returns the members of an election that were read last; empty if they are not known. */
  Optional<List<Member>> known(String serviceId) {
    this.wanted = true;
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
