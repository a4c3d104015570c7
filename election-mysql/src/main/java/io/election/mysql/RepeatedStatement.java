package io.election.mysql;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A statement that a node at rest runs once in each renew interval, about the same elections. It is
 * kept while its subject and its session stay the same, so that hundreds of elections do not build
 * it anew each time.
 *
 * @param <T> the type of the subject, which decides the text
 */
final class RepeatedStatement<T> {

  private @Nullable Session session;

  private @Nullable T subject;

  private @Nullable PreparedStatement statement;

  /**
   * Returns the statement about a subject. It stays open.
   *
   * @param copy copies a subject that is kept
   * @param sql the text without parameters, which depends on the session and the subject alone
   */
  PreparedStatement about(Session session, T subject, UnaryOperator<T> copy, Supplier<String> sql)
      throws SQLException {
    PreparedStatement kept = this.statement;
    if (kept != null && this.session == session && subject.equals(this.subject)) {
      return kept;
    }
    this.statement = null;
    if (kept != null && this.session == session) {
      kept.close();
    }
    PreparedStatement prepared = session.prepare(sql.get());
    this.session = session;
    this.subject = copy.apply(subject);
    this.statement = prepared;
    return prepared;
  }
}
