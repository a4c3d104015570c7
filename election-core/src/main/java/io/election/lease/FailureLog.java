package io.election.lease;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Keeps a flood of equal failures to one line a minute with a count. Used by one thread.
 */
final class FailureLog {

  private static final long QUIET_NANOS = Duration.ofMinutes(1).toNanos();

  /** Messages beyond this many kinds share one entry, so that changing texts cannot flood the log. */
  private static final int MAX_KINDS = 20;

  private static final class Kind {
    long loggedAt;
    int unlogged;
  }

  private final Logger log;

  private final Map<String, Kind> kinds = new HashMap<>();

  private long failures;

  private long firstAt;

  FailureLog(Logger log) {
    this.log = log;
  }

  /**
   * Tells of a failure, unless an equal one was told of within a minute.
   *
   * @param message what failed; equal messages are one kind
   * @param context what follows from it; may change from failure to failure
   */
  void failed(String message, String context, @Nullable Throwable failure, long now) {
    if (this.failures++ == 0) {
      this.firstAt = now;
    }
    this.log.debug("{}", message, failure);
    boolean room = this.kinds.size() < MAX_KINDS || this.kinds.containsKey(message);
    String key = room ? message : "";
    Kind kind = this.kinds.get(key);
    if (kind == null) {
      kind = new Kind();
      this.kinds.put(key, kind);
    } else if (now - kind.loggedAt < QUIET_NANOS) {
      kind.unlogged++;
      return;
    }
    if (kind.unlogged > 0) {
      this.log.warn("{} ({}; {} more times in the last minute)", message, context, kind.unlogged);
    } else {
      this.log.warn("{} ({})", message, context);
    }
    kind.loggedAt = now;
    kind.unlogged = 0;
  }

  /** Tells that it works again, if it has failed since it last did. */
  void succeeded(String what, long now) {
    if (this.failures == 0) {
      return;
    }
    this.log.info(
        "{} works again after {} failures in {} s",
        what,
        this.failures,
        Duration.ofNanos(now - this.firstAt).toSeconds());
    this.failures = 0;
    this.kinds.clear();
  }
}
