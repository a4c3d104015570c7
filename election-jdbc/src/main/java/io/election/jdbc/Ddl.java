package io.election.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * The statements that create the tables.
 *
 * @param all all of them, for an operator to run
 * @param leases the lease table
 * @param history the history table
 * @param members the member table, without which the election works
 * @param engine the engine of the tables, as {@link Dialect#description} shows it
 * @param together whether a transaction creates all tables or none
 */
record Ddl(
    String all, String leases, String history, String members, String engine, boolean together) {

  /** Reads a file beside this class. */
  static Ddl read(String name, String engine, boolean together) {
    try (InputStream file = Ddl.class.getResourceAsStream(name)) {
      String all = new String(
          Objects.requireNonNull(file, () -> name + " is missing beside this class")
              .readAllBytes(),
          StandardCharsets.UTF_8);
      String[] create = all.split("(?m);$\\R?", -1);
      return new Ddl(all.strip(), create[0], create[1], create[2], engine, together);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
