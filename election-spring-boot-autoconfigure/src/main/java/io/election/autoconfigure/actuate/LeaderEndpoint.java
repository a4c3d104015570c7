package io.election.autoconfigure.actuate;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.ExpectedLeader;
import io.election.Member;
import io.election.Names;
import io.election.OtherLeaderException;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
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
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

/**
 * Shows who leads, as far as this node knows without calling the store, and lets operators change
 * elections.
 */
@WebEndpoint(id = "leader", defaultAccess = Access.READ_ONLY)
final class LeaderEndpoint {

  private static final Logger log = LoggerFactory.getLogger(LeaderEndpoint.class);

  private static final int ACCEPTED = 202;

  private static final int CONFLICT = 409;

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
   * @param properties the users who may see details
   */
  LeaderEndpoint(
      Elections elections, @Nullable ElectionBackend backend, LeaderEndpointProperties properties) {
    this.elections = elections;
    this.describer = new ElectionDescriber(elections, backend);
    this.properties = properties;
  }

  /** Shows all elections of this node. */
  @ReadOperation
  Map<String, Object> elections(SecurityContext security) {
    return this.describer.node(showsDetails(security));
  }

  /**
   * Shows one election, with its candidates, members and last terms as details. Answers 404 if this
   * node does not know it.
   */
  @ReadOperation
  @Nullable
  Map<String, Object> election(@Selector String serviceId, SecurityContext security) {
    ElectionService service = this.elections.resolve(serviceId);
    return service != null ? this.describer.electionInFull(service, showsDetails(security)) : null;
  }

  /**
   * Answers load balancers with the status alone: 200 on the leader, 503 on a follower, 404 if this
   * node does not know the election. Also answers HEAD.
   */
  @ReadOperation
  WebEndpointResponse<Void> check(@Selector String serviceId, @Selector Question question) {
    ElectionService service = this.elections.resolve(serviceId);
    if (service == null) {
      return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NOT_FOUND);
    }
    return new WebEndpointResponse<>(
        service.isLeader()
            ? WebEndpointResponse.STATUS_OK
            : WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
  }

  /**
   * Designates the next leader, which must be a member of the election if the members are known.
   *
   * @param leaderId its id, or {@code host:port} if exactly one member's id begins with it
   * @param reason the reason, which the log and the history show
   * @param force whether a node that is not a member is accepted
   * @param security the user who sent the request
   */
  @WriteOperation
  WebEndpointResponse<Map<String, Object>> designate(
      @Selector String serviceId,
      @Nullable String leaderId,
      @Nullable String reason,
      @Nullable Boolean force,
      SecurityContext security) {
    return decide(serviceId, (service) -> {
      String wanted = Names.requireUsable("leader id", required(leaderId));
      AuditNote auditNote = auditNote(security, reason);
      String designated = Boolean.TRUE.equals(force) ? wanted : memberMeantBy(wanted, service);
      service.designate(designated, auditNote);
      Map<String, Object> state = this.describer.election(service, showsDetails(security));
      state.put("designated", designated);
      return new WebEndpointResponse<>(state, ACCEPTED);
    });
  }

  /** The id of the member to which a name refers; the name itself if the members are unknown. */
  private static String memberMeantBy(String name, ElectionService service)
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
   * term, nothing is changed and the answer shows the present leader.
   *
   * @param leaderId the leader to depose; any if missing
   * @param term the term to end; any if missing
   * @param reason the reason, which the log and the history show
   * @param security the user who sent the request
   */
  @DeleteOperation
  WebEndpointResponse<Map<String, Object>> forceElection(
      @Selector String serviceId,
      @Nullable String leaderId,
      @Nullable Long term,
      @Nullable String reason,
      SecurityContext security) {
    return decide(serviceId, (service) -> {
      AuditNote auditNote = auditNote(security, reason);
      if (leaderId != null || term != null) {
        service.forceElection(
            auditNote,
            new ExpectedLeader(
                leaderId != null ? Names.requireUsable("leader id", leaderId) : null, term));
      } else {
        service.forceElection(auditNote);
      }
      return DONE;
    });
  }

  /**
   * Makes this node stand aside in an election until it is resumed.
   *
   * @param reason the reason, which the log and the history show
   * @param security the user who sent the request
   */
  @WriteOperation
  WebEndpointResponse<Map<String, Object>> pause(
      @Selector String serviceId,
      @Selector Mode mode,
      @Nullable String reason,
      SecurityContext security) {
    return decide(serviceId, (service) -> {
      service.pause(auditNote(security, reason));
      return DONE;
    });
  }

  /**
   * Makes this node a candidate again.
   *
   * @param reason the reason, for the log
   * @param security the user who sent the request
   */
  @DeleteOperation
  WebEndpointResponse<Map<String, Object>> resume(
      @Selector String serviceId,
      @Selector Mode mode,
      @Nullable String reason,
      SecurityContext security) {
    return decide(serviceId, (service) -> {
      service.resume(auditNote(security, reason));
      return DONE;
    });
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

  private WebEndpointResponse<Map<String, Object>> decide(String serviceId, Decision decision) {
    ElectionService service = this.elections.resolve(serviceId);
    if (service == null) {
      return refused(
          WebEndpointResponse.STATUS_NOT_FOUND,
          "election '%s' is not known to this node; it knows %s"
              .formatted(serviceId, this.elections.all().keySet()));
    }
    try {
      return decision.make(service);
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
        Map.of("message", message != null ? message : "no reason is known"), status);
  }

  /** A question about an election, the last part of the path. */
  enum Question {
    /** Whether this node leads. */
    CHECK
  }

  /** How this node takes part, the last part of the path. */
  enum Mode {
    /** It stands aside. */
    PAUSE
  }

  /** An operator's decision. */
  @FunctionalInterface
  private interface Decision {
    WebEndpointResponse<Map<String, Object>> make(ElectionService service) throws Exception;
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
