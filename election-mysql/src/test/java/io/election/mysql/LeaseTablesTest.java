package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The jar and the documentation contain the same DDL. */
class LeaseTablesTest {

  @Test
  void the_file_in_the_jar_is_what_messages_print() throws IOException {
    assertThat(file()).isEqualToNormalizingNewlines(LeaseTables.ddl() + "\n");
  }

  @Test
  void the_page_shows_the_file() throws IOException {
    assertThat(Files.readString(Path.of("../docs/ddl.md")).replace("\r\n", "\n"))
        .contains("```sql\n" + LeaseTables.ddl() + "\n```");
  }

  static String file() throws IOException {
    try (InputStream file =
        Objects.requireNonNull(LeaseTables.class.getResourceAsStream("leader-election.sql"))) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
