package io.election.autoconfigure.commitfence;

import javax.sql.DataSource;

/** The database in which commits are fenced. Used within the auto-configuration. */
public interface FencedDatabase {

  /**
   * Returns whether connections of a source certainly lead to this database: it is the source of the
   * election itself, or has the same URL. Its parameters count, since they may choose the server.
   *
   * @param dataSource the source
   */
  boolean isShared(DataSource dataSource);
}
