package io.election.test;

/**
 * The SQL that is copied from project to project: whoever's statement changed a row leads until its next
 * one. Needs {@code useAffectedRows=true}: otherwise a losing statement counts as a change as well, and
 * all of them lead.
 */
public final class HandWrittenLease {

  /** What the table is made by, by hand. */
  public static final String TABLE = """
      CREATE TABLE leader_election (
          service_id varchar(128),
          leader_id varchar(128),
          last_active_time timestamp,
          PRIMARY KEY (service_id))
      """;

  /** The statement; its parameters are the election, the node, and the lease in seconds. */
  public static final String ATTEMPT = """
      insert ignore into leader_election (service_id, leader_id, last_active_time)
      values (?, ?, now())
      on duplicate key update
          leader_id = if(last_active_time <= now() - interval ? second,
              values(leader_id), leader_id),
          last_active_time = if(leader_id = values(leader_id),
              values(last_active_time), last_active_time)
      """;

  private HandWrittenLease() {}
}
