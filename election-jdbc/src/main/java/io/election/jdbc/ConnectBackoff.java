package io.election.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps all connections of a node from repeating a login that a server has refused: first for half
 * a minute, as {@link Refusal} says. A new user or password is tried at once. Thread-safe.
 */
final class ConnectBackoff {

  /** How soon another new login is tried after a new one was refused: tokens differ at each call. */
  private static final long CHANGED_AGAIN_NANOS = Duration.ofSeconds(5).toNanos();

  /** How long connections are left to those who cannot do without. */
  private static final long SPARED_NANOS = Duration.ofMinutes(5).toNanos();

  private final LongSupplier ticker;

  /** The refused logins, by server. */
  private final Map<String, Wait> waits = new HashMap<>();

  private @Nullable Long sparedUntil;

  /** Creates a back-off that forbids nothing, by a monotonic clock in nanoseconds. */
  ConnectBackoff(LongSupplier ticker) {
    this.ticker = ticker;
  }

  /**
   * Opens a connection, unless the server has refused this login too recently.
   *
   * @param server the server, by any name that distinguishes it
   * @param login the user and the password; {@code null} if they are not known
   * @throws SQLException if the connection cannot be opened; after a refusal with the same error
   *     number and message, until the next attempt is due
   */
  Connection connect(String server, @Nullable Object login, Opening opening) throws SQLException {
    Wait before = begin(server, login);
    Wait after = before;
    try {
      Connection connection = opening.open();
      after = null;
      return connection;
    } catch (SQLException ex) {
      after = failed(before, login, ex);
      throw ex;
    } finally {
      end(server, after);
    }
  }

  /**
   * Returns the last refusal, if there was one. Until this attempt ends it counts as refused, so
   * that no other thread sends the login too.
   */
  private synchronized @Nullable Wait begin(String server, @Nullable Object login)
      throws SQLException {
    Wait wait = this.waits.get(server);
    if (wait == null) {
      return null;
    }
    long now = this.ticker.getAsLong();
    if (wait.forbids(login, now)) {
      SQLException first = wait.failure();
      throw new SQLException(first.getMessage(), first.getSQLState(), first.getErrorCode(), first);
    }
    this.waits.put(server, Wait.after(wait, login, now, wait.refusal(), wait.failure()));
    return wait;
  }

  private synchronized @Nullable Wait failed(
      @Nullable Wait before, @Nullable Object login, SQLException failure) {
    long now = this.ticker.getAsLong();
    Refusal refusal = Refusal.of(failure, login != null);
    if (refusal == Refusal.CROWDED) {
      this.sparedUntil = now + SPARED_NANOS;
    }
    if (refusal != null && !refusal.pause(0).isZero()) {
      return Wait.after(before, login, now, refusal, failure);
    }
    // A server that answers refused logins late may do so only after the time-out.
    return before != null && SqlError.isTimeout(failure)
        ? Wait.after(before, login, now, before.refusal(), before.failure())
        : before;
  }

  private synchronized void end(String server, @Nullable Wait after) {
    if (after != null) {
      this.waits.put(server, after);
    } else {
      this.waits.remove(server);
    }
  }

  /**
   * Whether the server recently had no connection left. Only callers that cannot do without a
   * connection should then open one.
   */
  synchronized boolean isCrowded() {
    return this.sparedUntil != null && this.sparedUntil - this.ticker.getAsLong() > 0;
  }

  /** Opens a connection. */
  @FunctionalInterface
  interface Opening {

    Connection open() throws SQLException;
  }

  /**
   * A login that a server has refused.
   *
   * @param login the user and the password; {@code null} if they are not known
   * @param refusal the cause
   * @param failure what the server said
   * @param earlier how many refusals of the same login came before
   * @param until when the login may be sent again
   * @param changedAt from when on another login may be sent
   */
  private record Wait(
      @Nullable Object login,
      Refusal refusal,
      SQLException failure,
      int earlier,
      long until,
      long changedAt) {

    /** Returns the wait after a refusal, which may be the first. */
    static Wait after(
        @Nullable Wait before,
        @Nullable Object login,
        long now,
        Refusal refusal,
        SQLException failure) {
      boolean changed = before != null && !before.isSame(login);
      int earlier = before != null && !changed ? before.earlier + 1 : 0;
      long pause = refusal.pause(earlier).toNanos();
      // Nodes that were refused together do not try again together.
      long until = now + pause + ThreadLocalRandom.current().nextLong(pause / 2);
      long changedAt = changed ? now + CHANGED_AGAIN_NANOS : now;
      return new Wait(login, refusal, failure, earlier, until, changedAt);
    }

    boolean forbids(@Nullable Object login, long now) {
      return this.until - now > 0 && (isSame(login) || this.changedAt - now > 0);
    }

    private boolean isSame(@Nullable Object login) {
      return this.login == null || this.login.equals(login);
    }
  }
}
