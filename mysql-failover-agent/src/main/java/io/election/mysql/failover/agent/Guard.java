package io.election.mysql.failover.agent;

import java.time.Duration;
import java.util.List;

/** The server's own fence: what makes it read-only and ends it, without its agent. */
final class Guard {

  /** How often a second the guard counts. */
  private static final int TICKS = 4;

  /**
   * The guard counts the quarters of a second in which the agent has sent nothing. If the agent is
   * dead or paused, it ends all clients, makes the server read-only, and shuts it down, also if
   * something keeps it from being read-only. Nobody gets an answer to what waits for acknowledgements.
   * Nothing of it is replicated.
   */
  private static final String GUARD = """
      CREATE EVENT mysql_failover.guard ON SCHEDULE EVERY 1 SECOND DO
      BEGIN
        DECLARE tick int DEFAULT 0;
        SET SESSION sql_log_bin = 0;
        WHILE tick < %1$d AND @@GLOBAL.super_read_only = 0 DO
          IF tick > 0 THEN
            DO SLEEP(1 / %1$d);
          END IF;
          SET tick = tick + 1;
          UPDATE mysql_failover.guard SET silent = silent + 1, ticks = ticks + 1;
          IF (SELECT MAX(silent) FROM mysql_failover.guard) > %1$d * %2$d THEN
            BEGIN
              DECLARE client bigint;
              DECLARE last int DEFAULT 0;
              DECLARE clients CURSOR FOR %3$s;
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

  /** How many ticks may pass until a request counts that was sent when they were seen. */
  private static final int LATE_TICKS = 6;

  /**
   * Tells the guard that the agent lives, and returns the guard's ticks. A request that the network
   * has delayed by more than some of them tells it nothing.
   */
  private static final String AGENT_LIVES = """
      CREATE FUNCTION mysql_failover.agent_lives(seen bigint) RETURNS bigint
      DETERMINISTIC MODIFIES SQL DATA
      BEGIN
        UPDATE mysql_failover.guard SET silent = 0 WHERE ticks <= seen + %d;
        RETURN (SELECT MAX(ticks) FROM mysql_failover.guard);
      END
      """;

  /** For how long a request may tell the guard that the agent lives, after its ticks were seen. */
  static final Duration LATE = ticks(LATE_TICKS + 1);

  private Guard() {}

  /**
   * Returns the statements that create the guard.
   *
   * @param silentSeconds after how many seconds without a statement of the agent it acts
   * @param clients the query of the connections that it ends
   */
  static List<String> creation(int silentSeconds, String clients) {
    return List.of(
        "DROP TABLE IF EXISTS mysql_failover.guard",
        "CREATE TABLE mysql_failover.guard (silent int NOT NULL, ticks bigint NOT NULL) ENGINE = MEMORY",
        "INSERT INTO mysql_failover.guard VALUES (0, 0)",
        "DROP FUNCTION IF EXISTS mysql_failover.agent_lives",
        AGENT_LIVES.formatted(LATE_TICKS).strip(),
        "DROP EVENT IF EXISTS mysql_failover.guard",
        GUARD.formatted(TICKS, silentSeconds, clients.strip()).strip());
  }

  /**
   * Returns the expression that tells the guard that the agent lives. Its value is the guard's ticks.
   *
   * @param seen the ticks that were seen last
   */
  static String agentLives(long seen) {
    return "mysql_failover.agent_lives(%d)".formatted(seen);
  }

  /** Returns whether the guard was not told that the agent lives, since it had counted too much. */
  static boolean isLate(long ticks, long seen) {
    return ticks > seen + LATE_TICKS;
  }

  /**
   * Returns after what time without its agent the guard has ended all clients and made the server
   * read-only.
   *
   * @param silentSeconds as the guard was set
   */
  static Duration actsWithin(int silentSeconds) {
    return Duration.ofSeconds(silentSeconds).plus(ticks(3)); // a tick, and half a second to act
  }

  private static Duration ticks(int ticks) {
    return Duration.ofSeconds(1).multipliedBy(ticks).dividedBy(TICKS);
  }
}
