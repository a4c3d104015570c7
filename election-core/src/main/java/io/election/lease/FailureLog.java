package io.election.lease;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.event.Level;

/**
 * Keeps a flood of equal failures to one line a minute with a count, also if they come and go. Used by
 * one thread.
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

  /** Whether a failure was told of since it last worked. */
  private boolean told;

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
    this.told = true;
  }

  /** Tells that it works again, if it was told that it does not. */
  void succeeded(String what, long now) {
    if (this.failures == 0) {
      return;
    }
    this.log
        .atLevel(this.told ? Level.INFO : Level.DEBUG)
        .log(
            "{} works again after {} failures in {} s",
            what,
            this.failures,
            Duration.ofNanos(now - this.firstAt).toSeconds());
    ended();
  }

  /** The failures have ended, without a word: what failed is not tried any more. */
  void ended() {
    this.failures = 0;
    this.told = false;
  }
}
