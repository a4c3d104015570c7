package io.election.autoconfigure.commitfence;

import io.election.jdbc.CommitFence;
import javax.sql.DataSource;

/** A database in which commits are fenced. Used within the auto-configuration. */
public interface FencedDatabase {

  /**
   * Returns whether connections of a source certainly lead to this database: it is the source of the
   * election itself, or has the same URL. Its parameters count, since they may choose the server.
   *
   * @param dataSource the source
   */
  boolean isShared(DataSource dataSource);

  /**
   * Returns whether connections with a URL may lead to this database.
   *
   * @param url the URL
   */
  boolean isLike(String url);

  /** Returns its fence. */
  CommitFence fence();
}
