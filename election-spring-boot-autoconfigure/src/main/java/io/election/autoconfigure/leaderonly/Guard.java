package io.election.autoconfigure.leaderonly;

import io.election.LeaderOnly;
import io.election.NotLeaderException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The guard of one method. */
@FunctionalInterface
interface Guard {

  Logger log =
      LoggerFactory.getLogger("io.election.autoconfigure.leaderonly.LeaderOnlyInterceptor");

  @Nullable
  Object call(MethodInvocation invocation) throws Throwable;

  /**
   * Tells of a call that may not begin.
   *
   * @return what to throw instead of it; {@code null} if it is skipped
   */
  static @Nullable NotLeaderException skip(
      String method, LeaderOnlyCalls.Gate gate, LeaderOnly.OnFollower onFollower) {
    gate.skipped(method);
    if (onFollower == LeaderOnly.OnFollower.THROW) {
      return gate.notLeader();
    }
    if (gate.isStarting()) {
      log.warn(
          "skipped {}: this node does not lead election '{}' while it starts, so it may be that no node does the work. Do it in a method with @EventListener and the parameter LeadershipAcquiredEvent",
          method,
          gate.serviceId());
    } else {
      log.debug("skipped {}: this node does not lead election '{}'", method, gate.serviceId());
    }
    return null;
  }
}
