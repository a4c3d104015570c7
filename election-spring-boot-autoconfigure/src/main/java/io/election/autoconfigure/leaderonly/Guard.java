package io.election.autoconfigure.leaderonly;

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

  static void logSkip(String method, LeaderOnlyCalls.Gate gate) {
    if (gate.isStarting()) {
      log.warn(
          "skipped {}: this node does not lead election '{}' while it starts, so it may be that no node does the work. Do it in a method with @EventListener and the parameter LeadershipAcquiredEvent",
          method,
          gate.serviceId());
      return;
    }
    log.debug("skipped {}: this node does not lead election '{}'", method, gate.serviceId());
  }
}
