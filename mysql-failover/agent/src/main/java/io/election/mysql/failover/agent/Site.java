package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.mysql.failover.agent.AgentState.Seen;
import io.election.mysql.failover.agent.AgentState.Shown;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** A server and its agent: what the agent's duties need. */
record Site(
    AgentProperties properties,
    MysqlServer server,
    Registry registry,
    Announcer announcer,
    Standing standing,
    ElectionOperations election,
    AgentState.Reference reference,
    LongSupplier clock) {

  private static final Logger log = LoggerFactory.getLogger(Site.class);

  String name() {
    return this.properties.server();
  }

  long now() {
    return this.clock.getAsLong();
  }

  AgentState state() {
    return this.reference.get();
  }

  AgentState change(UnaryOperator<AgentState> step) {
    return this.reference.change(step);
  }

  /** Notes what was read of the election, and returns all that was seen of it. */
  Seen see(Snapshot read) {
    long now = now();
    return change((before) -> before.with(before.seen().see(read, now))).seen();
  }

  void show(Status status) {
    Status before = state().status();
    Shown shown = new Shown(status, now());
    change((state) -> state.with(shown));
    if (before.role() != status.role() || !before.reason().equals(status.reason())) {
      String reason = status.reason().isEmpty() ? "" : ": " + status.reason();
      log.atLevel(status.isOut() ? Level.WARN : Level.INFO)
          .log("{} is {}{}", name(), status.role(), reason);
    }
  }
}
