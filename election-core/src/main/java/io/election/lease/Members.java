package io.election.lease;

import io.election.Member;
import io.election.Names;
import io.election.store.ElectionDirectory;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Announces this node every two leases, and caches the other members, if the store is an
 * {@link ElectionDirectory}. Reads them once per lease while they are asked for, otherwise every
 * eight leases. Used by the elector's thread; {@link #known} and {@link #announceSoon} by any thread.
 */
final class Members {

  private static final String VERSION =
      Objects.requireNonNullElse(Members.class.getPackage().getImplementationVersion(), "");

  private static final int POSITION_LENGTH = 16_000;

  private static final String ASKED = "the Precedence of this node, asked for its position,";

  private static final String NO_POSITION =
      "other nodes see no position of this one: mend the bean of this type";

  private final @Nullable ElectionDirectory directory;

  private final LeaseSettings settings;

  private final String algorithm;

  private final Precedence precedence;

  private final Answers answers;

  private final ElectionLog log;

  private volatile @Nullable Map<String, List<Member>> known;

  private @Nullable Long dueAt;

  private @Nullable Long readAt;

  private @Nullable Long announcedAt;

  /** The positions as announced. */
  private Map<String, String> positions = Map.of();

  /** The positions as this node's precedence told them last. */
  private Map<String, String> knownPositions = Map.of();

  /** The question for the positions that is not answered yet; {@code null} if there is none. */
  private @Nullable Question question;

  /** Whether the members were asked for since the last read, or were not read twice yet. */
  private volatile boolean wanted = true;

  /** Whether a new position is to be announced at once. */
  private volatile boolean urgent;

  private @Nullable String announced;

  /** Whether the last call failed. */
  private boolean failed;

  /** The number of members of the largest election of this node, as read last. */
  private volatile int count;

  /**
   * A question for the positions of this node.
   *
   * @param askedAt when it was asked
   * @param urgent whether a new position is to be announced at once
   */
  private record Question(
      long askedAt, boolean urgent, CompletableFuture<Map<String, String>> answer) {}

  Members(
      @Nullable ElectionDirectory directory,
      LeaseSettings settings,
      String algorithm,
      Precedence precedence,
      Answers answers,
      ElectionLog log) {
    this.directory = directory;
    this.settings = settings;
    this.algorithm = algorithm;
    this.precedence = precedence;
    this.answers = answers;
    this.log = log;
  }

  /**
   * Announces this node or reads the members with one call, if either is due. A new position is
   * announced at once if an election is open or this was requested, otherwise once per lease; the
   * positions of others are read while an election is open.
   *
   * @param openSince since when an election in which positions matter has been open, by the ticker;
   *     empty if none is
   * @return whether there was something to do
   */
  boolean runBackgroundTask(Collection<Candidate> candidates, long now, OptionalLong openSince) {
    if (this.directory == null || candidates.isEmpty()) {
      return false;
    }
    long lease = this.settings.leaseDuration().toNanos();
    boolean urgent = takePositions(candidates, now);
    Map<String, String> positions = this.knownPositions;
    boolean announces = this.dueAt == null
        || now - this.dueAt >= 0
        || (!positions.equals(this.positions)
            && (urgent || openSince.isPresent() || isDue(this.announcedAt, openSince, now, lease)));
    boolean reads = this.readAt == null
        || now - this.readAt >= (this.wanted ? lease : 8 * lease)
        || (!positions.isEmpty()
            && openSince.isPresent()
            && isDue(this.readAt, openSince, now, this.settings.renewInterval().toNanos() / 4));
    if (!announces && !reads) {
      return false;
    }
    try {
      if (announces) {
        // Set before the call, which may fail: an announcement is valid for three leases.
        this.dueAt = now + lease / 2;
        this.announcedAt = now;
        announce(this.directory, candidates, positions);
        this.positions = positions;
        this.dueAt = now + 2 * lease;
      } else {
        this.readAt = now;
        this.wanted = this.known == null;
        Map<String, List<Member>> members = read(candidates);
        this.failed = false;
        this.log.membersKnown();
        this.log.membersDiffer(this.settings, VERSION, members.values());
      }
    } catch (Throwable ex) {
      this.readAt = now;
      this.known = null;
      // Only the first failed call is repeated soon: calls of hundreds of nodes could keep the
      // server overloaded.
      this.wanted = !this.failed;
      this.failed = true;
      this.log.membersUnknown(ex);
    }
    return true;
  }

  /** Announces a new position at once. Called by any thread. */
  void announceSoon() {
    this.urgent = true;
  }

  /** Returns whether a call is due: a time after the last one, or since an election opened. */
  private static boolean isDue(
      @Nullable Long last, OptionalLong openSince, long now, long interval) {
    return last == null
        || now - last >= interval
        || (openSince.isPresent() && last - openSince.getAsLong() < 0);
  }

  /**
   * Asks for the positions, or takes the answer to the last question. Until it has come, those known
   * last count.
   *
   * @return whether a new position is to be announced at once
   */
  private boolean takePositions(Collection<Candidate> candidates, long now) {
    if (this.precedence == Precedence.NONE) {
      return false;
    }
    Question question = this.question;
    if (question == null) {
      question = ask(candidates, now);
    }
    if (!question.answer().isDone()) {
      if (now - question.askedAt() > this.settings.operationTimeout().toNanos()) {
        this.answers.late(
            candidates.iterator().next().serviceId(), ASKED, "its last position counts");
      }
      this.question = question;
      return false;
    }
    this.knownPositions = question.answer().join();
    // Positions that are to be announced at once must be younger than the request.
    this.question = this.urgent ? ask(candidates, now) : null;
    return question.urgent();
  }

  private Question ask(Collection<Candidate> candidates, long now) {
    boolean urgent = this.urgent;
    this.urgent = false; // before the positions are asked for
    Set<String> ids = ids(candidates);
    return new Question(
        now,
        urgent,
        this.answers.askLater(
            ids.iterator().next(), ASKED, () -> positions(ids), Map.of(), NO_POSITION));
  }

  private Map<String, String> positions(Set<String> ids) {
    Map<String, String> positions = new LinkedHashMap<>();
    for (String id : ids) {
      String position = this.answers.ask(
          id,
          ASKED,
          () -> Names.printable(this.precedence.position(id), POSITION_LENGTH),
          "",
          NO_POSITION);
      if (!position.isEmpty()) {
        positions.put(id, position);
      }
    }
    return positions;
  }

  private void announce(
      ElectionDirectory directory, Collection<Candidate> candidates, Map<String, String> positions)
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
        VERSION,
        this.algorithm,
        positions,
        this.settings.label()));
  }

  /** Reads the members of all elections of this node with one call, and returns them. */
  Map<String, List<Member>> read(Collection<Candidate> candidates) throws LeaseStoreException {
    if (this.directory == null) {
      return Map.of();
    }
    Map<String, List<Member>> found = this.directory.members(ids(candidates));
    Map<String, List<Member>> members = new LinkedHashMap<>();
    // One object for a node in all elections in which it says the same: there may be hundreds of
    // both.
    Map<Member, Member> printable = new HashMap<>();
    for (Candidate candidate : candidates) {
      members.put(
          candidate.serviceId(),
          found.getOrDefault(candidate.serviceId(), List.of()).stream()
              .map((member) -> printable.computeIfAbsent(member, Members::printable))
              .toList());
    }
    this.known = members;
    this.count = members.values().stream().mapToInt(List::size).max().orElse(0);
    return members;
  }

  /**
   * Returns how many members the largest election of this node had when they were read last; 0 if
   * they never were. A failed call does not change it.
   */
  int count() {
    return this.count;
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
   * Returns the members of an election with their positions, as read since it opened and since this
   * node published its own; empty if they were not read since.
   */
  Optional<List<Member>> readSince(String serviceId, long openSince) {
    Map<String, List<Member>> known = this.known;
    Long read = this.readAt;
    Long announced = this.announcedAt;
    return known == null
            || read == null
            || announced == null
            || read - openSince < 0
            || read - announced < 0
            || !this.positions.containsKey(serviceId)
        ? Optional.empty()
        : Optional.ofNullable(known.get(serviceId));
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
            nodeId,
            Set.of(),
            Set.of(),
            true,
            this.settings.leaseDuration(),
            VERSION,
            "",
            Map.of(),
            ""));
      } catch (Throwable ex) {
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
        Names.printable(member.version()),
        Names.printable(member.algorithm()),
        Names.printable(member.position(), POSITION_LENGTH),
        member.lease(),
        Names.printable(member.label()));
  }
}
