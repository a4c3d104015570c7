package io.election.jdbc;

import java.sql.SQLException;

/**
 * A function that may fail with an error of the database.
 *
 * @param <A> the type of what it works with
 * @param <T> the type of the result
 */
@FunctionalInterface
interface SqlFunction<A, T> {

  T apply(A with) throws SQLException;
}
