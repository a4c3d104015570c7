package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Link.Step;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.sql.SQLException;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the server a replica of the source, if it may join it. Used by the agent's thread. */
record Follower(Site site) {

  private static final Logger log = LoggerFactory.getLogger(Follower.class);

  private Link link() {
    return this.site.state().link();
  }

  private void set(Link link) {
    this.site.change((before) -> before.with(link));
  }

  /**
   * Stops the receiver. What it ends with is no failure, also if the answer of the server is late.
   */
  void stopReceiver() throws SQLException {
    set(link().stopped());
    this.site.server().replication().stopReceiver();
  }

  /**
   * Joins the source if the server may. Before that, all agents can read that its position is not
   * final any more.
   *
   * @return the status of the server; {@code null} if nothing has changed
   */
  @Nullable
  Status follow(Promotion source, ServerState server, Snapshot read) throws Exception {
    Step step = link().look(this.site.properties(), source, server, this.site.now());
    set(step.link());
    if (step.action() == Link.Action.ASK) {
      step = ask(source, server, read);
      set(step.link());
    }
    if (step.action() == Link.Action.STOP) {
      stopReceiver();
    }
    if (step.action() == Link.Action.JOIN) {
      join(source, server, read);
    }
    if (!step.proof().isEmpty() && !this.site.announcer().isWhole()) {
      this.site.announcer().announce(server, Position.MAY_RECEIVE, read, step.proof());
    }
    return step.status();
  }

  /**
   * Asks the source what it has. That may take some time, so it is abandoned if a failover begins.
   */
  private Step ask(Promotion source, ServerState server, Snapshot read) throws Exception {
    long began = this.site.now();
    String address = this.site.properties().address(source.server());
    Future<Peer> task =
        VitalThread.start("ask-source", () -> Peer.inspect(address, this.site.properties()));
    try {
      while (!VitalThread.isDone(task, 10)) {
        if (this.site.standing().hasOpenedSince(began)) {
          return link().step(Link.Action.NOTHING, null); // there is no source
        }
      }
    } catch (SQLException ex) {
      return link().unanswered(source, server, Refusals.text(ex));
    }
    return link().answered(this.site.properties(), source, server, task.get(), read);
  }

  private void join(Promotion source, ServerState server, Snapshot read) throws Exception {
    log.info("{} joins the source {} in term {}", this.site.name(), source.server(), source.term());
    this.site.announcer().announce(server, Position.MAY_RECEIVE, read);
    this.site
        .server()
        .replication()
        .follow(
            this.site.properties().address(source.server()),
            this.site.properties().replicationUsername(),
            this.site.properties().replicationPassword());
    set(link().started(source, this.site.now()));
  }
}
