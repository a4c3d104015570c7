package io.election.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * Reads the current row.
 *
 * @param <T> the type of the result
 */
@FunctionalInterface
interface Reader<T> {

  T read(ResultSet row) throws SQLException;
}
