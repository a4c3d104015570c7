package io.election.jdbc;

import java.util.UUID;

/**
 * The stamp that a process writes into the column {@code seal} when it writes a record as leader:
 * {@code owner/election/server/version/time}, where version and time are those of the record as the
 * owner left it. An older tool changes one of the two but not the stamp, so the stamp is no longer
 * current. An operator's edit that changes neither has made no other node the leader. A stamp that
 * was copied with the record of another election names that one.
 *
 * <p>All methods return SQL expressions without parameters. An update must assign the stamp first:
 * its expressions then read the old column values, whether the server assigns columns in order or
 * all at once.
 *
 * <p>The server that executes a statement names itself, because a proxy may have moved the session
 * to another server.
 *
 * @param owner the process that writes, unique to it
 * @param dialect names the server that executes the statement
 * @param usable the condition that this server is {@linkplain Session#isUsable() usable}
 */
record OwnerStamp(UUID owner, Dialect dialect, String usable) {

  /** The stamp of an update that adds one to the version and sets the time. */
  String renewed() {
    return text("version + 1", "CURRENT_TIMESTAMP(6)");
  }

  /** The stamp of an update that adds one to the version and leaves the time. */
  String versionAdded() {
    return text("version + 1", "last_active_time");
  }

  /** Whether the last write was the owner's. */
  String isCurrent() {
    return "COALESCE(seal = %s, FALSE)".formatted(text("version", "last_active_time"));
  }

  /** Whether the owner led last, even if others have written since, and the server is usable. */
  String isMine() {
    return "LEFT(seal, 53) = %s AND %s".formatted(ownerOfElection(), this.usable);
  }

  /** The assignments of a renewal, which stamps the record only if the stamp was still current. */
  String renewal() {
    return """
        seal = CASE WHEN %s THEN %s ELSE seal END,
            version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)\
        """.formatted(isCurrent(), renewed());
  }

  private String text(String version, String time) {
    return "CONCAT(%s, '/', %s, '/', %s, '/', EXTRACT(EPOCH FROM %s))"
        .formatted(ownerOfElection(), this.dialect.sourceDigest(), version, time);
  }

  private String ownerOfElection() {
    return "CONCAT('%s/', %s)".formatted(this.owner, this.dialect.digest("service_id", 16));
  }
}
