package io.election.mysql.failover.agent;

import java.util.concurrent.TimeUnit;

/**
 * The guard of a server: it makes the server read-only and shuts it down if its agent is silent.
 */
final class Guard {

  /** The number of ticks of the guard per second. */
  private static final int TICKS = 4;

  private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1) / TICKS;

  /** The maximum time that the guard takes to notice that it must act, and to end all clients. */
  private static final long ACTS_NANOS = TICK_NANOS + TimeUnit.MILLISECONDS.toNanos(500);

  /**
   * The server's error when it is opened too late. The text is an invalid value of the variable.
   */
  private static final String TOO_LATE = "too late: the lease may have ended";

  /**
   * The expression for the second in which the server started. It has the same value in every
   * statement until the server restarts, even if the wall clock is set: MySQL computes the uptime
   * from the same two instants. If the clock is set back to before the start, the uptime is the
   * unsigned form of a negative number.
   */
  private static final String SERVER_START = """
      (SELECT UNIX_TIMESTAMP() - CAST(CAST(variable_value AS UNSIGNED) AS SIGNED)
       FROM performance_schema.global_status WHERE variable_name = 'Uptime')""";

  /** The shortest time that the guard is given. If less is left, the guard is not notified. */
  static final long SHORTEST_NANOS = ACTS_NANOS + 2 * TICK_NANOS;

  /**
   * The guard counts ticks of a quarter of a second, up to the last tick that its agent has
   * allowed. If the agent is dead or paused, the guard ends all clients, makes the server
   * read-only, and shuts it down, even if something prevents the server from becoming read-only.
   * Clients that wait for acknowledgements get no answer. Nothing that the guard does is
   * replicated.
   *
   * <p>The guard does nothing after the server has restarted, until an agent opens the server
   * again: it would shut down a server that an administrator opens by hand. Its table is not kept
   * in memory, which would be empty then: when such a table is first read after a restart, MySQL
   * logs a {@code TRUNCATE} of it, even with {@code sql_log_bin = 0}, and the server would have a
   * transaction that the source lacks.
   */
  private static final String GUARD = """
      CREATE EVENT mysql_failover.guard ON SCHEDULE EVERY 1 SECOND DO
      BEGIN
        DECLARE tick int DEFAULT 0;
        DECLARE this_start, this_opening bigint;
        SET SESSION sql_log_bin = 0;
        WHILE tick < %1$s AND @@GLOBAL.super_read_only = 0 DO
          IF tick = 0 THEN
            SET this_start = %3$s;
            SET this_opening = (SELECT MAX(opening) FROM mysql_failover.guard);
          ELSE
            DO SLEEP(1 / %1$s);
          END IF;
          SET tick = tick + 1;
          UPDATE mysql_failover.guard SET ticks = ticks + 1
              WHERE server_start = this_start AND opening = this_opening;
          IF EXISTS (SELECT * FROM mysql_failover.guard
              WHERE server_start = this_start AND opening = this_opening AND ticks > last_tick) THEN
            BEGIN
              DECLARE client bigint;
              DECLARE last int DEFAULT 0;
              DECLARE clients CURSOR FOR %2$s;
              DECLARE CONTINUE HANDLER FOR NOT FOUND SET last = 1;
              DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
              SET SESSION lock_wait_timeout = 1;
              SET GLOBAL offline_mode = ON;
              OPEN clients;
              REPEAT
                FETCH clients INTO client;
                IF last = 0 THEN
                  KILL client;
                END IF;
              UNTIL last END REPEAT;
              SET GLOBAL rpl_semi_sync_source_enabled = OFF;
              SET GLOBAL super_read_only = ON;
            END;
            SHUTDOWN;
          END IF;
        END WHILE;
      END
      """;

  /** The expression for the guard's current tick. */
  static final String COUNTED = "(SELECT MAX(ticks) FROM mysql_failover.guard)";

  /**
   * Sets the guard's last tick, and returns its current tick. A request that the network delayed
   * until after a later one has no effect.
   */
  private static final String MAY_SERVE = """
      CREATE FUNCTION mysql_failover.may_serve(number bigint, until_tick bigint) RETURNS bigint
      DETERMINISTIC MODIFIES SQL DATA
      BEGIN
        UPDATE mysql_failover.guard SET heard = number, last_tick = until_tick WHERE heard < number;
        RETURN %s;
      END
      """.formatted(COUNTED);

  private Guard() {}

  /**
   * Returns the statement that makes the server writable. The statement fails if it is executed too
   * late.
   *
   * @param micros the expression for the microseconds until the guard must have acted
   */
  static String opening(String micros) {
    return "SET GLOBAL super_read_only = IF(%s < %s, '%s', 'OFF')"
        .formatted(micros, TimeUnit.NANOSECONDS.toMicros(SHORTEST_NANOS), TOO_LATE);
  }

  /**
   * Returns the statements that create the guard.
   *
   * @param micros the expression for the microseconds until the guard has acted if it is not
   *     notified again
   * @param clients the query for the connections that the guard ends
   */
  static String creation(String micros, String clients) {
    return String.join(
        ";",
        "DROP TABLE IF EXISTS mysql_failover.guard",
        "CREATE TABLE mysql_failover.guard (server_start bigint NOT NULL PRIMARY KEY, ticks bigint NOT NULL, last_tick bigint NOT NULL, heard bigint NOT NULL, opening bigint NOT NULL) ENGINE = InnoDB",
        "INSERT INTO mysql_failover.guard VALUES (0, 0, 0, 0, 0)",
        "DROP FUNCTION IF EXISTS mysql_failover.may_serve",
        MAY_SERVE.strip(),
        reopening(micros, clients));
  }

  /**
   * Returns the statements for the guard of a server that was read-only and is opened. MySQL runs
   * no events while a server is read-only, and would run the next one up to a second after the
   * opening. It runs a new one at once.
   *
   * @param micros the expression for the microseconds until the guard has acted
   * @param clients the query for the connections that the guard ends
   */
  static String reopening(String micros, String clients) {
    return String.join(
        ";",
        beginning(micros),
        // A run of the old event that has not ended yet must not count too.
        "UPDATE mysql_failover.guard SET opening = opening + 1",
        "DROP EVENT IF EXISTS mysql_failover.guard",
        GUARD.formatted(TICKS, clients.strip(), SERVER_START).strip());
  }

  /**
   * Returns the statement that lets the guard of this run of the server count, and sets its last
   * tick.
   *
   * @param micros the expression of the microseconds until the guard has acted
   */
  static String beginning(String micros) {
    return "UPDATE mysql_failover.guard SET server_start = %s, last_tick = ticks + FLOOR((%s - %s) / %s)"
        .formatted(
            SERVER_START,
            micros,
            TimeUnit.NANOSECONDS.toMicros(ACTS_NANOS),
            TimeUnit.NANOSECONDS.toMicros(TICK_NANOS));
  }

  /**
   * Returns the expression that sets the guard's last tick. Its value is the guard's current tick.
   *
   * @param number the number of the request, greater than that of every earlier one
   * @param seen the guard's tick as last seen
   * @param nanos the time from then until the guard has acted
   */
  static String mayServe(long number, long seen, long nanos) {
    return "mysql_failover.may_serve(%s, %s)".formatted(number, lastTick(seen, nanos));
  }

  private static long lastTick(long seen, long nanos) {
    return seen + Math.floorDiv(nanos - ACTS_NANOS, TICK_NANOS);
  }
}
