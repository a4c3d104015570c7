package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** HTTP checks for load balancers, and commands for operators, which come by {@link CommandPort}. */
@RestController
class CheckController {

  private final Agent agent;
  private final SourceDuty duty;

  CheckController(Agent agent, SourceDuty duty) {
    this.agent = agent;
    this.duty = duty;
  }

  /** Answers 200 if the server is the source, 503 otherwise. */
  @GetMapping("/check")
  ResponseEntity<Status> source() {
    Status status = this.agent.status();
    return ResponseEntity.status(status.role() == Role.SOURCE ? 200 : 503).body(status);
  }

  /** Answers 200 if the server is a replica whose lag is at most the allowed one, 503 otherwise. */
  @GetMapping("/check/replica")
  ResponseEntity<Status> replica(@RequestParam(defaultValue = "10") long maxLag) {
    Status status = this.agent.status();
    boolean usable = status.role() == Role.REPLICA && status.lagSeconds() <= maxLag;
    return ResponseEntity.status(usable ? 200 : 503).body(status);
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
    try {
      this.agent.rebuild();
      return ResponseEntity.accepted().build();
    } catch (IllegalStateException ex) {
      return ResponseEntity.status(409).body(ex.getMessage());
    }
  }
}
