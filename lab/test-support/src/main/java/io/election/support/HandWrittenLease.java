package io.election.support;

/**
 * The SQL that is copied from project to project: the node whose statement changed a row leads
 * until its next statement. Needs {@code useAffectedRows=true}: otherwise a losing statement counts
 * as a change as well, and all nodes lead.
 */
public final class HandWrittenLease {

  /** The hand-made table. */
  public static final String TABLE = """
      CREATE TABLE leader_election (
          service_id varchar(128),
          leader_id varchar(128),
          last_active_time timestamp,
          PRIMARY KEY (service_id))
      """;

  /** The statement. Its parameters are the election, the node, and the lease in seconds. */
  public static final String ATTEMPT = """
      insert ignore into leader_election (service_id, leader_id, last_active_time)
      values (?, ?, now())
      on duplicate key update
          leader_id = if(last_active_time <= now() - interval ? second,
              values(leader_id), leader_id),
          last_active_time = if(leader_id = values(leader_id),
              values(last_active_time), last_active_time)
      """;

  /** The same for PostgreSQL, with the lease twice. */
  public static final String POSTGRESQL_ATTEMPT = """
      INSERT INTO leader_election AS held (service_id, leader_id, last_active_time)
      VALUES (?, ?, statement_timestamp())
      ON CONFLICT (service_id) DO UPDATE SET
          leader_id = CASE
              WHEN held.last_active_time <= statement_timestamp() - make_interval(secs => ?)
              THEN excluded.leader_id ELSE held.leader_id END,
          last_active_time = CASE WHEN held.leader_id = excluded.leader_id
                  OR held.last_active_time <= statement_timestamp() - make_interval(secs => ?)
              THEN excluded.last_active_time ELSE held.last_active_time END
      """;

  private HandWrittenLease() {}
}
