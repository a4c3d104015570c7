package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseStoreException;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * HTTP checks for load balancers, and commands for operators, which come by {@link CommandPort}. A
 * command is answered with 202, with 409 and the reason if this server cannot obey it now, or with
 * 503 if etcd did not answer.
 */
@RestController
record CheckController(Agent agent, SourceDuty duty, Registry registry, FirstRecord first) {

  /**
   * The answer to a check.
   *
   * @param failover why no server would be promoted if the source were lost now; empty if one would
   * @param administrators the users of the source's clients, other than its agent's, that have SUPER
   *     or CONNECTION_ADMIN: no setting keeps them out; empty if there are none
   */
  record Check(Role role, String reason, long lagSeconds, String failover, String administrators) {}

  private ResponseEntity<Check> answer(Status status, boolean usable) {
    return ResponseEntity.status(usable ? 200 : 503)
        .body(new Check(
            status.role(),
            status.reason(),
            status.lagSeconds(),
            this.agent.state().rehearsal().problem(),
            this.agent.state().duty().administrators()));
  }

  /** Answers 200 if the server is the source, 503 otherwise. */
  @GetMapping("/check")
  ResponseEntity<Check> source() {
    Status status = this.agent.status();
    return answer(status, status.role() == Role.SOURCE);
  }

  /** Answers 200 if the server is a replica whose lag is at most the allowed one, 503 otherwise. */
  @GetMapping("/check/replica")
  ResponseEntity<Check> replica(@RequestParam(defaultValue = "10") long maxLag) {
    Status status = this.agent.status();
    return answer(status, status.role() == Role.REPLICA && status.lagSeconds() <= maxLag);
  }

  /** Makes another server the source once it has caught up. */
  @PostMapping("/switch-over")
  CompletableFuture<ResponseEntity<String>> switchOver(@RequestBody SwitchOver request) {
    return this.duty
        .switchOver(request.to())
        .handle((text, ex) -> ex == null
            ? ResponseEntity.accepted().body(text)
            : ResponseEntity.status(409).body(ex.getMessage()));
  }

  record SwitchOver(String to) {

    SwitchOver {
      Objects.requireNonNull(to);
    }
  }

  /** Replaces all data of a refused server by those of the source. */
  @PostMapping("/rebuild")
  ResponseEntity<String> rebuild(@RequestBody Map<String, String> none) {
    this.agent.rebuild();
    return ResponseEntity.accepted().build();
  }

  /** Makes this server the first source of its set. */
  @PostMapping("/initialize")
  ResponseEntity<String> initialize(@RequestBody Initialize request) throws LeaseStoreException {
    this.first.write(request.acknowledging());
    return ResponseEntity.accepted().build();
  }

  /** The number of replicas that acknowledge each transaction before the source does. */
  record Initialize(int acknowledging) {}

  /**
   * Pauses the set for maintenance: until {@code /resume}, no server is promoted, and no source
   * gives up because replicas are missing.
   */
  @PostMapping("/pause")
  ResponseEntity<String> pause(@RequestBody Pause request) throws LeaseStoreException {
    String reason = request.reason();
    this.registry.pause(reason == null || reason.isBlank() ? "no reason given" : reason);
    return ResponseEntity.accepted().build();
  }

  record Pause(@Nullable String reason) {}

  @PostMapping("/resume")
  ResponseEntity<String> resume(@RequestBody Map<String, String> none) throws LeaseStoreException {
    this.registry.pause("");
    return ResponseEntity.accepted().build();
  }

  @ExceptionHandler
  ResponseEntity<String> refuse(IllegalStateException ex) {
    return ResponseEntity.status(409).body(ex.getMessage());
  }

  @ExceptionHandler
  ResponseEntity<String> refuse(LeaseStoreException ex) {
    return ResponseEntity.status(503).body(ex.getMessage());
  }
}
