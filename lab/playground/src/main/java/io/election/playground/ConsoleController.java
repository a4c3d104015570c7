package io.election.playground;

import java.util.List;
import java.util.Map;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** The requests of the page. */
@RestController
class ConsoleController {

  private final Playground playground;
  private final Actions actions;

  ConsoleController(Playground playground) {
    this.playground = playground;
    this.actions = new Actions(playground);
  }

  /** All that happens. A browser that connects again gets the last ten minutes again. */
  @GetMapping("/events")
  SseEmitter events() {
    return playground.broadcaster().add(playground.everything());
  }

  @GetMapping("/actions")
  List<Actions.Action> actions() {
    return actions.all();
  }

  /** Does something, or answers why not. */
  @PostMapping(path = "/actions", consumes = "application/json")
  ResponseEntity<Map<String, String>> act(@RequestBody Actions.Wish wish) {
    try {
      return ResponseEntity.ok(Map.of("text", actions.act(wish)));
    } catch (Actions.RefusedException ex) {
      return ResponseEntity.status(409).body(Map.of("text", "" + ex.getMessage()));
    } catch (IllegalArgumentException ex) {
      return ResponseEntity.badRequest().body(Map.of("text", "" + ex.getMessage()));
    }
  }
}
