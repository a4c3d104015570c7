package io.election.mysql;

import java.util.UUID;

/**
 * How the column {@code seal} tells who led last, and whether anybody else has written to the record
 * since: {@code owner/server/version/time}, where version and time are those of the record as the owner
 * left it. Who knows of no seal changes one of both and leaves the seal as it is, which breaks it; an
 * operator who edits neither makes nobody lead.
 *
 * <p>All are SQL expressions without parameters. They read columns before an update changes them, in
 * whatever order a server assigns.
 *
 * <p>The server that executes a statement names itself: a proxy may have moved the session to another.
 *
 * @param owner the process that writes; no other has the same
 * @param source an expression for the server that executes the statement
 * @param sameServer the condition that this is the server for which the session was set up
 */
record Seal(UUID owner, String source, String sameServer) {

  /** What a record is sealed with by an update that adds one to the version and sets the time. */
  String renewed() {
    return text("version + 1", "CURRENT_TIMESTAMP(6)");
  }

  /** What a record is sealed with by an update that adds one to the version and leaves the time. */
  String versionAdded() {
    return text("version + 1", "last_active_time");
  }

  /** Whether the last write was the owner's. */
  String isIntact() {
    return "COALESCE(seal = %s, FALSE)".formatted(text("version", "last_active_time"));
  }

  /** Whether the owner led last, whoever has written since, on the session's own server. */
  String isOwned() {
    return "LEFT(seal, 36) = '%s' AND %s".formatted(this.owner, this.sameServer);
  }

  /** What a renewal changes. A seal that is broken stays so. */
  String renewal() {
    return """
        seal = IF(%s, %s, seal),
            version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)\
        """.formatted(isIntact(), renewed());
  }

  private String text(String version, String time) {
    return "CONCAT('%s/', %s, '/', %s, '/', UNIX_TIMESTAMP(%s))"
        .formatted(this.owner, this.source, version, time);
  }
}
