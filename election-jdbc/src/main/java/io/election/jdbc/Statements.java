package io.election.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs statements on a connection, none of which waits beyond the deadline of the current call. */
interface Statements {

  /** Runs a statement without parameters and without a result, as it is. */
  void execute(String sql) throws SQLException;

  /** Runs a query and reads its rows. */
  <T> List<T> query(String sql, SqlFunction<ResultSet, T> reader, @Nullable Object... parameters)
      throws SQLException;

  /**
   * Determines what each transaction begins with from now on.
   *
   * @param locally two statements, each with a semicolon at its end
   */
  void setLocally(String locally);

  /** The schema of the tables; empty before it is known. */
  String schema();

  /** The connection, for callers that use it in their own way. */
  Connection connection();

  /** Bounds the next use of the connection by the deadline. */
  void bound() throws SQLException;
}
