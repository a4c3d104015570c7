package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SqlErrorTest {

  private enum Kind {
    RIGHT(SqlError.MISSING_RIGHT::is),
    DUPLICATE(SqlError.DUPLICATE_KEY::is),
    LOCK(SqlError::isLockTrouble),
    REFUSAL(SqlError::isRefusal),
    LOST(SqlError::isConnectionLost),
    INTERRUPTED(SqlError::isInterrupted),
    OUT_OF_REACH(SqlError.OUT_OF_REACH::is),
    TABLE(SqlError.MISSING_TABLE::is),
    COLUMN(SqlError.MISSING_COLUMN::is),
    DDL_RIGHT(SqlError.MISSING_DDL_RIGHT::is),
    MADE(SqlError.MADE_BY_ANOTHER::is);

    private final Predicate<SQLException> is;

    Kind(Predicate<SQLException> is) {
      this.is = is;
    }
  }

  /** PostgreSQL has no numbers. */
  @ParameterizedTest
  @CsvSource({
    "08006, LOST",
    "23505, DUPLICATE MADE",
    "25006, ''",
    "28P01, LOST",
    "3D000, ''",
    "40001, LOCK",
    "40P01, LOCK INTERRUPTED",
    "42501, RIGHT REFUSAL OUT_OF_REACH DDL_RIGHT",
    "42703, COLUMN",
    "42710, MADE",
    "42P01, OUT_OF_REACH TABLE",
    "42P07, MADE",
    "53300, ''",
    "55P03, LOCK INTERRUPTED",
    "57014, INTERRUPTED",
    "57P01, ''"
  })
  void aStateTellsWhatHappened(String state, String kinds) {
    SQLException failure = new SQLException("failed", state);
    assertThat(Stream.of(Kind.values())
            .filter((kind) -> kind.is.test(failure))
            .map(Kind::name)
            .collect(Collectors.toSet()))
        .isEqualTo(kinds.isEmpty() ? Set.of() : Set.of(kinds.split(" ")));
  }
}
