package io.election.mysql.failover.agent;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * The guard of an open server: two events that make the server read-only and shut it down if its
 * agent is silent. Used by one thread. Times are readings of the monotonic clock.
 *
 * <p>The event {@code guard} counts ticks of a quarter of a second, up to the last one that its
 * agent has allowed. Then the event {@code door} requests the global read lock, which holds up
 * whoever begins to write. Only now does the guard end all clients, and only after that does it
 * release those transactions that wait for acknowledgements: their clients get no answer. When the
 * door has the lock, it makes the server read-only and shuts it down.
 *
 * <p>Guard and agent communicate by the names of user-level locks. These depend on no other lock,
 * so that neither holds up the other. Each opening has its own names, so that a late request has no
 * effect after it. Nothing that the guard does is replicated. MySQL disables an event when its only
 * run begins, so the guard does nothing after a restart: it would shut down a server that an
 * administrator opens by hand. It ends only when it is killed: the server seems to be read-only
 * already while a {@code SET GLOBAL super_read_only = ON} waits.
 */
final class Guard {

  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** The maximum time that the guard takes to notice that it must act, and to end all clients. */
  private static final long ACTS_NANOS = TICK_NANOS + TimeUnit.MILLISECONDS.toNanos(500);

  /** The shortest time that the guard is given. If less is left, the guard is not notified. */
  static final long SHORTEST_NANOS = ACTS_NANOS + 2 * TICK_NANOS;

  /** How long a guard that counts four times a second may stand still. */
  private static final long STANDS_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** The number of checks in which it must have stood still: all may have been paused in between. */
  private static final int STANDS_CHECKS = 3;

  /** The condition of the threads that run the events. */
  static final String RUNS =
      "name = 'thread/sql/event_worker' AND processlist_db = 'mysql_failover'";

  /** The condition that a thread holds the global read lock, or holds up others until it has it. */
  static final String DOOR = """
      EXISTS (SELECT * FROM performance_schema.metadata_locks
              JOIN performance_schema.threads ON thread_id = owner_thread_id
              WHERE object_type = 'GLOBAL' AND lock_type = 'SHARED' AND %s)""";

  /** The expression for the greatest number in the names of those locks that begin as given. */
  private static final String GREATEST = """
      (SELECT COALESCE(MAX(CAST(SUBSTRING_INDEX(object_name, '.', -1) AS SIGNED)), 0)
       FROM performance_schema.metadata_locks
       WHERE object_type = 'USER LEVEL LOCK' AND object_name LIKE '%s.%%')""";

  private static final String EVENTS = """
      CREATE EVENT mysql_failover.guard ON SCHEDULE AT CURRENT_TIMESTAMP ON COMPLETION PRESERVE DO
      BEGIN
        DECLARE client, last_tick bigint;
        DECLARE tick bigint DEFAULT 0;
        DECLARE ended bool DEFAULT FALSE;
        DECLARE clients CURSOR FOR {clients};
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = TRUE;
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
        SET SESSION sql_log_bin = 0;
        WHILE IS_FREE_LOCK('{name}.door') DO
          DO SLEEP(0.01);
        END WHILE;
        SET last_tick = FLOOR(({micros} - {acts}) / {tick});
        WHILE tick <= last_tick DO
          SET tick = tick + 1 - IS_FREE_LOCK('{name}.door');
          DO GET_LOCK(CONCAT('{name}.tick.', tick), 0), RELEASE_LOCK(CONCAT('{name}.tick.', tick - 1)),
              SLEEP({tick} / 1000000);
          SET last_tick = GREATEST(last_tick, {until});
        END WHILE;
        DO GET_LOCK('{name}.act', 0);
        WHILE NOT {door} DO
          DO SLEEP(0.01);
        END WHILE;
        OPEN clients;
        REPEAT
          FETCH clients INTO client;
          IF NOT ended THEN
            KILL client;
          END IF;
        UNTIL ended END REPEAT;
        SET GLOBAL rpl_semi_sync_source_enabled = OFF;
      END;
      CREATE EVENT mysql_failover.door ON SCHEDULE AT CURRENT_TIMESTAMP ON COMPLETION PRESERVE DO
      BEGIN
        SET SESSION sql_log_bin = 0;
        SET SESSION lock_wait_timeout = 31536000;
        DO GET_LOCK('{name}.door', 0);
        WHILE IS_FREE_LOCK('{name}.act') DO
          DO SLEEP(0.05);
        END WHILE;
        FLUSH TABLES WITH READ LOCK;
        SET GLOBAL super_read_only = ON;
        SHUTDOWN;
      END""";

  private final String name =
      "mysql_failover." + ThreadLocalRandom.current().nextInt(1_000_000_000);

  /** The number of the lock by which the guard was last allowed to count on. */
  private long until;

  private long tick;
  private long seenAt;
  private long movedAt;

  /** The number of checks since then. */
  private int still;

  Guard(long now) {
    this.movedAt = now;
  }

  /**
   * Returns the statements that make the server writable, and create the guard. The first one fails
   * if it is executed too late. MySQL runs no events while a server is read-only, and would run the
   * next one up to a second after the opening. It runs a new one at once.
   *
   * @param micros the expression for the microseconds until the guard has acted if it is not
   *     notified
   */
  String opening(String micros, String clients) {
    return String.join(
        ";",
        // The text is an invalid value of the variable.
        "SET GLOBAL super_read_only = IF(%s < %s, 'too late: the lease may have ended', 'OFF')"
            .formatted(micros, TimeUnit.NANOSECONDS.toMicros(SHORTEST_NANOS)),
        "CREATE DATABASE IF NOT EXISTS mysql_failover",
        "DROP EVENT IF EXISTS mysql_failover.guard",
        "DROP EVENT IF EXISTS mysql_failover.door",
        EVENTS
            .replace("{clients}", clients.strip())
            .replace("{door}", DOOR.formatted(RUNS))
            .replace("{until}", GREATEST.formatted(this.name + ".until"))
            .replace("{micros}", micros)
            .replace("{acts}", Long.toString(TimeUnit.NANOSECONDS.toMicros(ACTS_NANOS)))
            .replace("{tick}", Long.toString(TimeUnit.NANOSECONDS.toMicros(TICK_NANOS)))
            .replace("{name}", this.name));
  }

  /** Returns the expression for the guard's current tick; 0 if it does not count. */
  String ticks() {
    return GREATEST.formatted(this.name + ".tick");
  }

  void see(long tick, long now) {
    if (tick > this.tick) {
      this.movedAt = now;
      this.still = 0;
    } else {
      this.still++;
    }
    this.tick = tick;
    this.seenAt = now;
  }

  /** Forgets the tick, since the server may have been paused. */
  void forget() {
    this.tick = 0;
  }

  /** Returns whether the guard counted when it was last seen. */
  boolean counts() {
    return this.tick > 0;
  }

  /** Returns whether the guard does not count, although the server answers. */
  boolean standsStill() {
    return this.still >= STANDS_CHECKS && this.seenAt - this.movedAt >= STANDS_NANOS;
  }

  /**
   * Returns the expression that lets the guard count on, if it counts. Its value is the guard's
   * current tick. It names the last tick, relative to the one last seen: if the network delays it,
   * the guard does not act later.
   *
   * @param until when the guard must have acted
   */
  String serving(long until) {
    if (!counts()) {
      return ticks();
    }
    long before = this.until;
    this.until = this.tick + Math.floorDiv(until - this.seenAt - ACTS_NANOS, TICK_NANOS);
    return "%1$s + 0 * COALESCE(GET_LOCK('%2$s.until.%3$s', 0) + RELEASE_LOCK('%2$s.until.%4$s'), 0)"
        .formatted(ticks(), this.name, this.until, before);
  }
}
