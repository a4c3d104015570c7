package io.election.embedded;

import java.io.IOException;
import java.nio.file.Path;

/** A node reduced to its use of the database. Joins at once, and leaves when its input ends. */
final class DatabaseNode {

  static final String JOINED = "answering at ";

  public static void main(String[] args) throws IOException {
    try (EmbeddedDatabase database = EmbeddedDatabase.join(Path.of(args[0]))) {
      System.out.println(JOINED + database.getJdbcUrl());
      System.in.read();
    }
  }
}
