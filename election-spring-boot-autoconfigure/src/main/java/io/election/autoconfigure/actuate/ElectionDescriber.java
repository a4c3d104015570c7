package io.election.autoconfigure.actuate;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.Leadership;
import io.election.Member;
import io.election.PastTerm;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.autoconfigure.leaderonly.LeaderBoundStatus;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.util.ClassUtils;

/**
 * Describes elections as maps of plain values, which every JSON library writes alike, from what this
 * node knows without calling the store. Details are for authorized readers only.
 */
final class ElectionDescriber {

  private static final DateTimeFormatter MILLISECONDS =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

  private final Elections elections;

  private final @Nullable ElectionBackend backend;

  private final LeaderBoundBeans beans;

  ElectionDescriber(
      Elections elections, @Nullable ElectionBackend backend, LeaderBoundBeans beans) {
    this.elections = elections;
    this.backend = backend;
    this.beans = beans;
  }

  /** Describes all elections of this node. */
  Map<String, Object> node(boolean details) {
    Map<String, Object> description = new LinkedHashMap<>();
    this.elections.all().values().stream().findFirst().ifPresent((first) -> {
      description.put("nodeId", first.nodeId());
      description.put("algorithm", algorithm(first));
    });
    putHealth(description, details);
    if (this.backend != null && !this.backend.parts().isEmpty()) {
      description.put("parts", this.backend.parts());
    }
    Map<String, Object> described = new LinkedHashMap<>();
    this.elections
        .all()
        .forEach((name, service) -> described.put(name, election(service, details)));
    description.put("elections", described);
    return description;
  }

  /** Describes an election without its members and history. */
  Map<String, Object> election(ElectionService service, boolean details) {
    Map<String, Object> description = publicPart(service);
    if (details) {
      paused(service).ifPresent((auditNote) -> {
        description.put("paused", true);
        description.put("pausedBy", auditNote.actor());
        if (!auditNote.reason().isEmpty()) {
          description.put("pausedReason", auditNote.reason());
        }
      });
    }
    return description;
  }

  /** Describes an election with its candidates, members and last terms as details. */
  Map<String, Object> electionInFull(ElectionService service, boolean details) {
    Map<String, Object> description = election(service, details);
    putHealth(description, details);
    if (details) {
      operations(service).ifPresent((operations) -> {
        operations.members().ifPresent((members) -> {
          description.put("candidates", candidates(members));
          description.put("members", members(members));
        });
        List<Map<String, Object>> history =
            operations.history().stream().map(ElectionDescriber::pastTerm).toList();
        if (!history.isEmpty()) {
          description.put("history", history);
        }
      });
      List<Map<String, Object>> bound = this.beans.of(this.elections.nameOf(service)).stream()
          .map(ElectionDescriber::leaderBound)
          .toList();
      if (!bound.isEmpty()) {
        description.put("leaderBound", bound);
      }
    }
    return description;
  }

  /** Says whether this node can lead or follow, since a follower and a node in trouble look alike. */
  private void putHealth(Map<String, Object> description, boolean details) {
    if (this.backend == null) {
      return;
    }
    Optional<String> problem = problem(this.elections, this.backend, this.beans);
    description.put("healthy", problem.isEmpty());
    problem.filter((text) -> details).ifPresent((text) -> description.put("problem", text));
  }

  /**
   * The problem that keeps this node from leading, with all that runs where the leader is, and from
   * following; empty if there is none.
   */
  static Optional<String> problem(
      Elections elections, ElectionBackend backend, LeaderBoundBeans beans) {
    return backend
        .problem()
        .or(() -> elections.all().entrySet().stream()
            .flatMap((entry) ->
                operations(entry.getValue()).flatMap(ElectionOperations::moved).stream()
                    .map((mark) ->
                        "Election '%s' was %s: set as.election.algorithm to that, or remove the mark from the record."
                            .formatted(entry.getKey(), mark)))
            .findFirst())
        .or(beans::problem);
  }

  /** Who paused this node in an election, and why; empty if it is not paused. */
  static Optional<AuditNote> paused(ElectionService service) {
    return operations(service).flatMap(ElectionOperations::paused);
  }

  /** The operations of an election; empty if it is the application's own and has none. */
  static Optional<ElectionOperations> operations(ElectionService service) {
    return service instanceof ElectionOperations operations
        ? Optional.of(operations)
        : Optional.empty();
  }

  /** Describes the members of an election. */
  static List<Map<String, Object>> members(List<Member> members) {
    return members.stream().map(ElectionDescriber::member).toList();
  }

  /** The part of the answer that everyone who can reach the endpoint may see. */
  private static Map<String, Object> publicPart(ElectionService service) {
    Leadership leadership = service.leadership().orElse(null);
    boolean leader = leadership != null || service.isLeader();
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("leader", leader);
    (leader ? Optional.ofNullable(service.nodeId()) : service.leaderId())
        .ifPresent((id) -> description.put("leaderId", id));
    OptionalLong term = leadership != null ? OptionalLong.of(leadership.term()) : service.term();
    term.ifPresent((value) -> description.put("term", value));
    service.leaderLease().ifPresent((lease) -> description.put("lease", lease.toString()));
    if (leadership != null) {
      description.put("since", MILLISECONDS.format(leadership.since()));
      if (!leadership.remaining().equals(Leadership.UNLIMITED)) {
        description.put(
            "leaseRemaining",
            leadership.remaining().truncatedTo(ChronoUnit.MILLIS).toString());
      }
    }
    return description;
  }

  private static Map<String, Object> leaderBound(LeaderBoundStatus bean) {
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("bean", bean.bean());
    description.put("state", bean.state());
    description.put("since", MILLISECONDS.format(bean.since()));
    putIfKnown(description, "lastFailure", bean.failure());
    return description;
  }

  private static Map<String, Object> pastTerm(PastTerm entry) {
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("term", entry.term());
    description.put("leaderId", entry.leaderId());
    description.put("from", MILLISECONDS.format(entry.from()));
    putIfKnown(
        description, "until", entry.until() != null ? MILLISECONDS.format(entry.until()) : null);
    putIfKnown(description, "reason", entry.reason());
    putIfKnown(description, "endReason", entry.endReason());
    putIfKnown(description, "endedBy", entry.endedBy());
    putIfKnown(description, "note", entry.note());
    return description;
  }

  /** The nodes that may lead, in the order in which they came. */
  static List<String> candidates(List<Member> members) {
    return members.stream()
        .filter((member) -> member.eligible() && !member.paused())
        .map(Member::nodeId)
        .toList();
  }

  private static Map<String, Object> member(Member member) {
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("nodeId", member.nodeId());
    description.put("since", MILLISECONDS.format(member.since()));
    description.put("lastSeen", MILLISECONDS.format(member.lastSeen()));
    description.put("eligible", member.eligible());
    description.put("paused", member.paused());
    putIfKnown(
        description, "lease", member.lease().isZero() ? null : member.lease().toString());
    putIfKnown(description, "version", member.version());
    putIfKnown(description, "label", member.label());
    putIfKnown(description, "algorithm", member.algorithm());
    putIfKnown(description, "position", member.position());
    return description;
  }

  private static void putIfKnown(
      Map<String, Object> description, String key, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      description.put(key, value);
    }
  }

  private String algorithm(ElectionService service) {
    if (this.backend != null) {
      return this.backend.algorithm();
    }
    Class<?> type = ClassUtils.getUserClass(AopUtils.getTargetClass(service));
    return type.getSimpleName().isEmpty() ? ClassUtils.getShortName(type) : type.getSimpleName();
  }
}
