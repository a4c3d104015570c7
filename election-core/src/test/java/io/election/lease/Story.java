package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaseStore.Reading;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The words in which the simulation describes events to people. */
final class Story {

  private Story() {}

  static String time(long nanos) {
    return String.format(Locale.ROOT, "%.3f s", nanos / 1e9);
  }

  /** For example {@code [a, term 3, lease 10.000 s, version 12]}. */
  static String row(@Nullable LeaseRow row) {
    if (row == null) {
      return "[no row]";
    }
    Long millis = row.leaseMillis();
    String lease = millis == null
        ? "lease unknown"
        : millis == 0 ? "released" : "lease " + time(millis * 1_000_000);
    return "[%s, term %d, %s, version %d]"
        .formatted(
            row.leaderId().isEmpty() ? "vacant" : row.leaderId(), row.term(), lease, row.version());
  }

  /** The state or the answer of the server. */
  static String outcome(@Nullable Object outcome) {
    if (outcome instanceof OptionalLong term) {
      return term.isPresent() ? "term " + term.getAsLong() : "no, the row is another";
    }
    if (outcome instanceof Optional<?> found) {
      Object value = found.orElse(null);
      return row(value instanceof Reading reading ? reading.row() : (LeaseRow) value);
    }
    if (outcome instanceof Set<?> renewed) {
      return renewed.isEmpty() ? "no" : "yes";
    }
    if (outcome instanceof Boolean done) {
      return done ? "yes" : "no";
    }
    return outcome instanceof Map<?, ?> ? "the history" : String.valueOf(outcome);
  }

  static String event(LeadershipEvent event) {
    if (event instanceof LeadershipAcquiredEvent won) {
      return "LEADS in term %d (%s)".formatted(won.term(), won.reason());
    }
    return "leads no more, term %d is over (%s)"
        .formatted(event.term(), ((LeadershipLostEvent) event).reason());
  }

  /** The fault of a process, and for how long it lasts. */
  static String fault(Fault fault, long nanos) {
    return switch (fault) {
      case CRASH -> "is killed";
      case PAUSE -> "is paused for " + time(nanos);
      case SUSPEND -> "is suspended, with its machine, for " + time(nanos);
      case CUT_OFF -> "is cut off from the database for " + time(nanos);
      case WALL_CLOCK_STEPS -> "has its wall clock set";
      case RESIGN -> "is told to step down";
      case HAND_OVER -> "is told to hand over";
      case CAMPAIGN -> "is told to stand";
      case SIGNAL -> "hears that something may have been handed back";
      case PAUSED_BY_OPERATOR -> "is told to stand aside until further notice";
      case RESUMED_BY_OPERATOR -> "is told that it may lead again";
      case STOP -> "is stopped";
      case WORK -> "has leader work to do for " + time(nanos);
      default -> "suffers " + fault;
    };
  }

  /** The operation on the server; {@code null} if the fault is not one of the server. */
  static @Nullable String edit(Fault fault) {
    return switch (fault) {
      case DESIGNATED_BY_SQL -> "an operator writes a name into the row";
      case DESIGNATED_AND_BACK -> "an operator writes a name into the row, and soon the old one";
      case REPLACED -> "an operator replaces the row";
      case DELETED -> "an operator deletes the row";
      case TABLES_EMPTIED -> "an operator empties both tables";
      case LEASE_EDITED -> "an operator changes the lease in the row";
      case TERM_LOWERED -> "an operator lowers the term in the row";
      case DATABASE_CLOCK_STEPS -> "the database's clock is set";
      case FAILOVER -> "another server takes over, which has missed renewals";
      default -> null;
    };
  }
}
