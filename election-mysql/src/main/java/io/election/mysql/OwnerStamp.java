package io.election.mysql;

import java.util.UUID;

/**
 * The stamp that a process puts on a record that it writes as leader, in the column
 * {@code seal}: {@code owner/server/version/time}, where version and time are those of the record as the
 * owner left it. An older tool changes one of the two and leaves the stamp as it is, so that the stamp is
 * no longer current. An operator who changes neither has made nobody lead.
 *
 * <p>All methods give SQL expressions without parameters. They read columns before an update changes
 * them, in whatever order a server assigns.
 *
 * <p>The server that executes a statement names itself, because a proxy may have moved the session to
 * another.
 *
 * @param owner the process that writes; no other has the same
 * @param source an expression for the server that executes the statement
 * @param sameServer the condition that this is the server for which the session was set up
 */
record OwnerStamp(UUID owner, String source, String sameServer) {

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

  /** Whether the owner led last, even if others have written since, on the session's own server. */
  String isMine() {
    return "LEFT(seal, 36) = '%s' AND %s".formatted(this.owner, this.sameServer);
  }

  /** The assignments of a renewal. It stamps the record only if the stamp was still current. */
  String renewal() {
    return """
        seal = IF(%s, %s, seal),
            version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)\
        """.formatted(isCurrent(), renewed());
  }

  private String text(String version, String time) {
    return "CONCAT('%s/', %s, '/', %s, '/', UNIX_TIMESTAMP(%s))"
        .formatted(this.owner, this.source, version, time);
  }
}
