package io.election.autoconfigure.actuate;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.ExpectedLeader;
import io.election.Member;
import io.election.Names;
import io.election.OtherLeaderException;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import java.security.Principal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.util.MimeTypeUtils;

/**
 * Shows who leads, as far as this node knows without calling the store, and lets operators change
 * elections.
 *
 * <p>Spring Boot lets the query and the body of a request override path variables. Security rules go
 * by the path, so each operation takes the whole rest of the path as one {@link ElectionPath}, which
 * nothing overrides.
 */
@WebEndpoint(id = "leader", defaultAccess = Access.READ_ONLY)
final class LeaderEndpoint {

  private static final Logger log = LoggerFactory.getLogger(LeaderEndpoint.class);

  private static final int ACCEPTED = 202;

  private static final int CONFLICT = 409;

  private static final String CHECK = "check";

  private static final String PAUSE = "pause";

  private static final String CANNOT_PAUSE = "cannot be paused";

  private static final Pattern HOST_AND_PORT = Pattern.compile(".+:\\d{1,5}");

  private static final WebEndpointResponse<Map<String, Object>> DONE =
      new WebEndpointResponse<>(WebEndpointResponse.STATUS_NO_CONTENT);

  /** The actor of a request without a logged-in user. */
  private static final String ANYBODY = "endpoint";

  private final Elections elections;

  private final ElectionDescriber describer;

  private final LeaderEndpointProperties properties;

  /**
   * Creates the endpoint.
   *
   * @param elections the elections to show
   * @param backend the backend of these elections; {@code null} if the application has its own
   *     service
   * @param beans the beans that run where the leader is
   * @param properties the users who may see details
   */
  LeaderEndpoint(
      Elections elections,
      @Nullable ElectionBackend backend,
      LeaderBoundBeans beans,
      LeaderEndpointProperties properties) {
    this.elections = elections;
    this.describer = new ElectionDescriber(elections, backend, beans);
    this.properties = properties;
  }

  /** Shows all elections of this node. */
  @ReadOperation
  Map<String, Object> elections(SecurityContext security) {
    return this.describer.node(showsDetails(security));
  }

  /**
   * Shows one election, with its candidates, members and last terms as details; with {@code /check}
   * answers load balancers with the status alone: 200 on the leader, 503 on a follower. Also answers
   * HEAD.
   *
   * @param path what follows the endpoint's own path
   * @param serviceId the name of the election, if a path cannot contain it
   * @param security the user who sent the request
   */
  @ReadOperation(
      produces = {
        MimeTypeUtils.APPLICATION_JSON_VALUE,
        MimeTypeUtils.ALL_VALUE // a load balancer may accept anything else
      })
  WebEndpointResponse<Map<String, Object>> election(
      @Selector(match = Match.ALL_REMAINING) Object path,
      @Nullable String serviceId,
      SecurityContext security) {
    return at(path, serviceId, CHECK, (service, check) -> {
      if (check) {
        return new WebEndpointResponse<>(
            service.isLeader()
                ? WebEndpointResponse.STATUS_OK
                : WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
      }
      return new WebEndpointResponse<>(
          this.describer.electionInFull(service, showsDetails(security)),
          MimeTypeUtils.APPLICATION_JSON);
    });
  }

  /**
   * Designates the next leader, which must be a member of the election if the members are known; with
   * {@code /pause} makes this node stand aside in the election until it is resumed.
   *
   * @param path what follows the endpoint's own path
   * @param serviceId the name of the election, if a path cannot contain it
   * @param leaderId its id, or {@code host:port} if exactly one member's id begins with it
   * @param reason the reason, which the log and the history show
   * @param force whether a node that is not a member is accepted
   * @param security the user who sent the request
   */
  @WriteOperation
  WebEndpointResponse<Map<String, Object>> designateOrPause(
      @Selector(match = Match.ALL_REMAINING) Object path,
      @Nullable String serviceId,
      @Nullable String leaderId,
      @Nullable String reason,
      @Nullable Boolean force,
      SecurityContext security) {
    return at(
        path,
        serviceId,
        PAUSE,
        (service, pause) -> decide(service, () -> {
          if (pause) {
            refuse("leaderId", leaderId);
            AuditNote auditNote = auditNote(security, reason);
            operations(service, CANNOT_PAUSE).pause(auditNote);
            return DONE;
          }
          String wanted = Names.requireNodeId("leader id", required(leaderId));
          AuditNote auditNote = auditNote(security, reason);
          ElectionOperations operations =
              operations(service, "cannot designate a leader at run time");
          String designated =
              Boolean.TRUE.equals(force) ? wanted : memberMeantBy(wanted, operations);
          operations.designate(designated, auditNote);
          Map<String, Object> state = this.describer.election(service, showsDetails(security));
          state.put("designated", designated);
          return new WebEndpointResponse<>(state, ACCEPTED);
        }));
  }

  /** The id of the member to which a name refers; the name itself if the members are unknown. */
  private static String memberMeantBy(String name, ElectionOperations service)
      throws InterruptedException, NoMemberException {
    if (name.equals(service.nodeId())) {
      return name;
    }
    Optional<List<Member>> known = service.currentMembers();
    if (known.isEmpty()) {
      return name;
    }
    List<String> ids = known.get().stream().map(Member::nodeId).toList();
    if (ids.contains(name)) {
      return name;
    }
    List<String> there = HOST_AND_PORT.matcher(name).matches()
        ? ids.stream().filter((id) -> id.startsWith(name + ":")).toList()
        : List.of();
    if (there.size() == 1) {
      return there.get(0);
    }
    throw new NoMemberException(
        (there.isEmpty()
                    ? "no node '%s' stands for election '%s', according to the known members"
                    : "'%s' is not one member of election '%s' but several")
                .formatted(Names.printable(name), service.serviceId())
            + ". Write the node id of a member, or add \"force\": true to designate it anyway",
        known.get());
  }

  /**
   * Forces a new election. If the leader or its term is given and another node leads, or in another
   * term, nothing is changed and the answer shows the present leader. With {@code /pause} makes this
   * node a candidate again.
   *
   * @param path what follows the endpoint's own path
   * @param serviceId the name of the election, if a path cannot contain it
   * @param leaderId the leader to depose; any if missing
   * @param term the term to end; any if missing
   * @param reason the reason, which the log and the history show
   * @param security the user who sent the request
   */
  @DeleteOperation
  WebEndpointResponse<Map<String, Object>> forceElectionOrResume(
      @Selector(match = Match.ALL_REMAINING) Object path,
      @Nullable String serviceId,
      @Nullable String leaderId,
      @Nullable String term,
      @Nullable String reason,
      SecurityContext security) {
    return at(
        path,
        serviceId,
        PAUSE,
        (service, resume) -> decide(service, () -> {
          AuditNote auditNote = auditNote(security, reason);
          if (resume) {
            refuse("leaderId", leaderId);
            refuse("term", term);
            operations(service, CANNOT_PAUSE).resume(auditNote);
          } else if (leaderId != null || term != null) {
            ExpectedLeader expected = new ExpectedLeader(
                leaderId != null ? Names.requireUsable("leader id", leaderId) : null,
                term != null ? number(term) : null);
            operations(service, "cannot compare the leader when it forces an election")
                .forceElection(auditNote, expected);
          } else {
            operations(service, "cannot force an election at run time").forceElection(auditNote);
          }
          return DONE;
        }));
  }

  private static ElectionOperations operations(ElectionService service, String refusal) {
    return ElectionDescriber.operations(service)
        .orElseThrow(() ->
            new UnsupportedOperationException(service.getClass().getSimpleName() + " " + refusal));
  }

  private static void refuse(String name, @Nullable String value) {
    if (value != null) {
      throw new IllegalArgumentException(
          "a pause and its end take no %s, only a reason".formatted(name));
    }
  }

  private static long number(String term) {
    try {
      return Long.parseLong(term);
    } catch (NumberFormatException ex) {
      throw new IllegalArgumentException(
          "term is a number, not '%s'".formatted(Names.printable(term)), ex);
    }
  }

  private static String required(@Nullable String leaderId) {
    if (leaderId == null || leaderId.isBlank()) {
      throw new IllegalArgumentException(
          "leaderId is required: the node id of the node that should lead, as {\"leaderId\": \"…\"}");
    }
    return leaderId;
  }

  /**
   * The actor is the logged-in user, never a name in the request. A user whose name cannot be noted
   * may act nevertheless.
   */
  private static AuditNote auditNote(SecurityContext security, @Nullable String reason) {
    Principal principal = security.getPrincipal();
    String name = principal != null && principal.getName() != null ? principal.getName() : "";
    return new AuditNote(Names.usable(name, ANYBODY), reason != null ? reason : "");
  }

  private boolean showsDetails(SecurityContext security) {
    return this.properties.showDetails().isShown(security, this.properties.roles());
  }

  private WebEndpointResponse<Map<String, Object>> at(
      Object path, @Nullable String serviceId, String action, Operation operation) {
    ElectionPath place;
    try {
      place = ElectionPath.of(path, serviceId, action);
    } catch (IllegalArgumentException ex) {
      return refused(WebEndpointResponse.STATUS_BAD_REQUEST, ex.getMessage());
    }
    ElectionService service = this.elections.all().get(place.serviceId());
    if (service == null) {
      return refused(
          WebEndpointResponse.STATUS_NOT_FOUND,
          "election '%s' is not known to this node; it knows %s"
              .formatted(
                  Names.printable(place.serviceId()), this.elections.all().keySet()));
    }
    return operation.run(service, place.action());
  }

  private static WebEndpointResponse<Map<String, Object>> decide(
      ElectionService service, Decision decision) {
    try {
      return decision.make();
    } catch (NoMemberException ex) {
      Map<String, Object> refusal = new LinkedHashMap<>();
      refusal.put("message", ex.getMessage());
      refusal.put("members", ElectionDescriber.members(ex.members));
      return new WebEndpointResponse<>(refusal, CONFLICT);
    } catch (OtherLeaderException ex) {
      Map<String, Object> refusal = new LinkedHashMap<>();
      refusal.put("message", ex.getMessage());
      ex.leaderId().ifPresent((id) -> refusal.put("leaderId", Names.printable(id)));
      ex.term().ifPresent((value) -> refusal.put("term", value));
      return new WebEndpointResponse<>(refusal, CONFLICT);
    } catch (IllegalArgumentException ex) {
      return refused(WebEndpointResponse.STATUS_BAD_REQUEST, ex.getMessage());
    } catch (IllegalStateException | UnsupportedOperationException ex) {
      return refused(CONFLICT, ex.getMessage());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      return refused(WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE, "interrupted");
    } catch (Exception ex) {
      log.warn("election '{}' could not be decided by the endpoint", service.serviceId(), ex);
      return refused(WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE, ex.getMessage());
    }
  }

  private static WebEndpointResponse<Map<String, Object>> refused(
      int status, @Nullable String message) {
    return new WebEndpointResponse<>(
        Map.of("message", message != null ? message : "no reason is known"),
        status,
        MimeTypeUtils.APPLICATION_JSON);
  }

  /** What a request does with an election, or with the action that its path names. */
  @FunctionalInterface
  private interface Operation {
    WebEndpointResponse<Map<String, Object>> run(ElectionService service, boolean action);
  }

  /** An operator's decision. */
  @FunctionalInterface
  private interface Decision {
    WebEndpointResponse<Map<String, Object>> make() throws Exception;
  }

  /** Thrown if the designated node is not a member of the election. */
  private static final class NoMemberException extends Exception {

    private static final long serialVersionUID = 1L;

    final transient List<Member> members;

    NoMemberException(String message, List<Member> members) {
      super(message);
      this.members = members;
    }
  }
}
