package io.election.joint;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.joint.JointState.Why;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The log lines of elections by a list, for operators. */
final class JointLog {

  private static final Logger log = LoggerFactory.getLogger(JointElector.class);

  private final String list;

  JointLog(String list) {
    this.list = list;
  }

  void joined(String serviceId, String nodeId) {
    log.info(
        "node {} stands for election '{}' by {}: it leads while it holds all of them",
        nodeId,
        serviceId,
        this.list);
  }

  void changed(LeadershipEvent event) {
    if (event instanceof LeadershipAcquiredEvent acquired) {
      log.info(
          "become leader by {}: election '{}', node {}, term {} ({})",
          this.list,
          acquired.serviceId(),
          acquired.nodeId(),
          acquired.term(),
          acquired.reason());
    } else if (event instanceof LeadershipLostEvent lost) {
      boolean unwanted = lost.reason() == LeadershipLostEvent.Reason.EXPIRED
          || lost.reason() == LeadershipLostEvent.Reason.DISPLACED;
      log.atLevel(unwanted ? Level.WARN : Level.INFO)
          .log(
              "lost leader by {}: election '{}', node {}, term {} ({})",
              this.list,
              lost.serviceId(),
              lost.nodeId(),
              lost.term(),
              lost.reason());
    }
  }

  void handsBack(String serviceId, String nodeId, Why why) {
    String reason = switch (why) {
      case LOST -> "a part was lost";
      case TERMS -> "the parts show different terms; it tries again above all of them";
      case OUT_OF_REACH ->
        "the next part does not answer, or is not granted; it stands aside for a lease, so that a node that reaches all parts can lead";
      case ORDER ->
        "the next part is held by a node that waits for what this node holds: write as.election.algorithm in the same order on all nodes";
    };
    log.atLevel(why == Why.ORDER || why == Why.OUT_OF_REACH ? Level.WARN : Level.INFO)
        .log(
            "node {} hands back what it holds of election '{}' by {}: {}",
            nodeId,
            serviceId,
            this.list,
            reason);
  }

  void workUnknown(String serviceId, Throwable failure) {
    log.warn(
        "whether leader work of election '{}' by {} runs is unknown: {}; it counts as running",
        serviceId,
        this.list,
        failure,
        failure);
  }

  /** Throws nothing. */
  void listenerFailed(Throwable failure) {
    try {
      log.error("A listener of leadership events has failed", failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
  }

  /** Throws nothing. */
  void failedUnexpectedly(Throwable failure) {
    try {
      log.error("The election by {} has failed unexpectedly, and continues", this.list, failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
  }
}
