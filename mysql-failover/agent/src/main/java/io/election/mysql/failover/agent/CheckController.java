package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseStoreException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** HTTP checks for load balancers, and commands for operators, which come by {@link CommandPort}. */
@RestController
class CheckController {

  private static final Logger log = LoggerFactory.getLogger(CheckController.class);

  private final Agent agent;
  private final SourceDuty duty;
  private final Rehearsal rehearsal;
  private final Registry registry;

  CheckController(Agent agent, SourceDuty duty, Rehearsal rehearsal, Registry registry) {
    this.agent = agent;
    this.duty = duty;
    this.rehearsal = rehearsal;
    this.registry = registry;
  }

  /**
   * The answer to a check.
   *
   * @param failover why no server would be promoted if the source were lost now; empty if one would
   * @param administrators the users of the source's clients, other than its agent's, that have SUPER
   *     or CONNECTION_ADMIN: no setting keeps them out; empty if there are none
   */
  record Check(Role role, String reason, long lagSeconds, String failover, String administrators) {}

  private Check check(Status status) {
    return new Check(
        status.role(),
        status.reason(),
        status.lagSeconds(),
        this.rehearsal.problem(),
        this.duty.administrators());
  }

  /** Answers 200 if the server is the source, 503 otherwise. */
  @GetMapping("/check")
  ResponseEntity<Check> source() {
    Status status = this.agent.status();
    return ResponseEntity.status(status.role() == Role.SOURCE ? 200 : 503).body(check(status));
  }

  /** Answers 200 if the server is a replica whose lag is at most the allowed one, 503 otherwise. */
  @GetMapping("/check/replica")
  ResponseEntity<Check> replica(@RequestParam(defaultValue = "10") long maxLag) {
    Status status = this.agent.status();
    boolean usable = status.role() == Role.REPLICA && status.lagSeconds() <= maxLag;
    return ResponseEntity.status(usable ? 200 : 503).body(check(status));
  }

  /**
   * Makes another server the source once it has caught up. Answers 202 if the source was handed
   * over, or 409 with the reason if this server is still the source, or was not the source.
   */
  @PostMapping("/switch-over")
  CompletableFuture<ResponseEntity<String>> switchOver(@RequestBody SwitchOver request) {
    return this.duty
        .switchOver(request.to())
        .thenApply((text) -> ResponseEntity.accepted().body(text))
        .exceptionally((ex) -> ResponseEntity.status(409).body(ex.getMessage()));
  }

  /** The server that becomes the source. */
  record SwitchOver(String to) {}

  /**
   * Replaces all data of a refused server by those of the source. Answers 202, or 409 with the
   * reason.
   */
  @PostMapping("/rebuild")
  ResponseEntity<String> rebuild(@RequestBody Map<String, String> none) {
    this.agent.rebuild();
    return ResponseEntity.accepted().build();
  }

  /**
   * Makes this server the first source of its set. Answers 202, or 409 with the reason.
   */
  @PostMapping("/initialize")
  ResponseEntity<String> initialize(@RequestBody Initialize request) throws Exception {
    this.agent.initialize(request.acknowledging());
    return ResponseEntity.accepted().build();
  }

  /** The number of replicas that acknowledge each transaction before the source does. */
  record Initialize(int acknowledging) {}

  /**
   * Pauses the set for maintenance: until {@code /resume}, no server is promoted, and no source
   * gives up because replicas are missing. Answers 202, or 503 if that is not known to be stored.
   */
  @PostMapping("/pause")
  ResponseEntity<String> pause(@RequestBody Pause request) {
    String reason = request.reason();
    return note(reason == null || reason.isBlank() ? "no reason given" : reason);
  }

  /** Answers a command that this server cannot obey now. */
  @ExceptionHandler
  ResponseEntity<String> refuse(IllegalStateException ex) {
    return ResponseEntity.status(409).body(ex.getMessage());
  }

  /** Why the set is paused. */
  record Pause(@Nullable String reason) {}

  /** Ends a pause. Answers 202, or 503 if that is not known to be stored. */
  @PostMapping("/resume")
  ResponseEntity<String> resume(@RequestBody Map<String, String> none) {
    return note("");
  }

  private ResponseEntity<String> note(String reason) {
    try {
      this.registry.pause(reason);
      log.warn("The set is {}", reason.isEmpty() ? "resumed" : "paused: " + reason);
      return ResponseEntity.accepted().build();
    } catch (LeaseStoreException ex) {
      return ResponseEntity.status(503).body(ex.getMessage());
    }
  }
}
