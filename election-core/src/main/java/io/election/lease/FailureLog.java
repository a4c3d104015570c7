package io.election.lease;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Limits equal failures to one log line a minute with a count, even if they come and go. Used by
 * one thread.
 */
final class FailureLog {

  private static final long QUIET_NANOS = Duration.ofMinutes(1).toNanos();

  /** Further kinds of messages share one entry, so that changing texts cannot flood the log. */
  private static final int MAX_KINDS = 20;

  private static final class Kind {
    long loggedAt;
    int unlogged;
  }

  private final Logger log;

  private final Map<String, Kind> kinds = new HashMap<>();

  private long failures;

  private long firstAt;

  /** Whether a warning was logged since the last success. */
  private boolean warned;

  FailureLog(Logger log) {
    this.log = log;
  }

  /**
   * Logs a failure, unless an equal one was logged within the last minute.
   *
   * @param message the failure; equal messages are of one kind
   * @param context the consequence; may change from failure to failure
   */
  void failed(String message, String context, @Nullable Throwable failure, long now) {
    if (this.failures++ == 0) {
      this.firstAt = now;
    }
    this.log.debug("{}", message, failure);
    if (!this.kinds.containsKey(message) && this.kinds.size() >= MAX_KINDS) {
      this.kinds.values().removeIf((old) -> now - old.loggedAt >= QUIET_NANOS);
    }
    boolean room = this.kinds.size() < MAX_KINDS || this.kinds.containsKey(message);
    String key = room ? message : "";
    Kind kind = this.kinds.get(key);
    if (kind == null) {
      kind = new Kind();
      this.kinds.put(key, kind);
    } else if (now - kind.loggedAt < QUIET_NANOS) {
      kind.unlogged++;
      return;
    } else if (now - kind.loggedAt >= 2 * QUIET_NANOS) {
      kind.unlogged = 0;
    }
    if (kind.unlogged > 0) {
      this.log.warn("{} ({}; {} more times in the last minute)", message, context, kind.unlogged);
    } else {
      this.log.warn("{} ({})", message, context);
    }
    kind.loggedAt = now;
    kind.unlogged = 0;
    this.warned = true;
  }

  /** Reports a success after failures: at INFO if a warning was logged, otherwise at DEBUG. */
  void succeeded(String what, long now) {
    if (this.failures == 0) {
      return;
    }
    this.log
        .atLevel(this.warned ? Level.INFO : Level.DEBUG)
        .log(
            "{} works again after {} failures in {} s",
            what,
            this.failures,
            Duration.ofNanos(now - this.firstAt).toSeconds());
    ended();
  }

  /** Forgets the failures without a log line: the call that failed is no longer attempted. */
  void ended() {
    this.failures = 0;
    this.warned = false;
  }
}
