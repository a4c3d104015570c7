package io.election.mysql.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.support.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The functions of a real server give the same results. */
@Tag("faults")
class GtidSetIT {

  private static final int PAIRS = 4_000;

  private static final int SPOILT = 4_000;

  private static final int MALFORMED_GTID_SET = 1772;

  private final TestDatabase database = TestDatabase.newDatabase();

  @BeforeEach
  void needsTags() {
    String version = this.database.query("SELECT VERSION()");
    assumeTrue(
        version != null && version.matches("(8\\.[3-9]|9\\.)((?!MariaDB).)*"),
        () -> "GTIDs with tags need MySQL 8.3 or newer, not " + version);
  }

  @Test
  void theServerGivesTheSameAnswers() {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < PAIRS; i += 200) {
      List<String> asked = new ArrayList<>();
      List<String> expected = new ArrayList<>();
      List<GtidSet> differences = new ArrayList<>();
      for (int k = 0; k < 200; k++) {
        String one = RandomSets.text(random);
        String other = RandomSets.text(random);
        GtidSet a = GtidSet.parse(one);
        GtidSet b = GtidSet.parse(other);
        asked.add(
            "CONCAT(GTID_SUBSET('%1$s', '%2$s'), '|', GTID_SUBTRACT('%1$s', '%2$s'), '|', GTID_SUBTRACT('%1$s', ''), '|', GTID_SUBTRACT('%1$s,%2$s', ''))"
                .formatted(one, other));
        expected.add("%d|%s|%s|%s".formatted(b.contains(a) ? 1 : 0, a.subtract(b), a, a.union(b)));
        differences.add(a.subtract(b));
      }
      String answers =
          this.database.query("SELECT CONCAT_WS(';', %s)".formatted(String.join(", ", asked)));
      List<String> rows = List.of(answers.split(";", -1));
      assertThat(rows).map((row) -> row.replace("\n", "")).isEqualTo(expected);
      assertThat(rows).map((row) -> GtidSet.parse(row.split("\\|", -1)[1])).isEqualTo(differences);
    }
  }

  /** Texts with one character added, removed or replaced. */
  @Test
  void whatTheServerRefusesIsRefusedAndNothingIsReadDifferently() throws SQLException {
    SplittableRandom random = new SplittableRandom(3);
    int refused = 0;
    int read = 0;
    try (Connection connection = this.database.connect();
        PreparedStatement statement = connection.prepareStatement("SELECT GTID_SUBTRACT(?, '')")) {
      for (int i = 0; i < SPOILT; i++) {
        String text = spoilt(RandomSets.text(random), random);
        String server = normalForm(statement, text);
        GtidSet ours = parsed(text);
        if (server == null) {
          assertThat(ours).as("the server refuses '%s'", text).isNull();
          refused++;
        } else if (ours != null) {
          assertThat(ours).as("'%s'", text).hasToString(server.replace("\n", ""));
          read++;
        }
      }
    }
    assertThat(refused).isGreaterThan(SPOILT / 10);
    assertThat(read).isGreaterThan(SPOILT / 10);
  }

  private static String spoilt(String text, SplittableRandom random) {
    int at = random.nextInt(text.length() + 1);
    int end = Math.min(at + random.nextInt(2), text.length());
    String characters = "0123456789afzT_:-, \n;.\u212a";
    int drawn = random.nextInt(characters.length() + 1);
    String put = drawn < characters.length() ? characters.substring(drawn, drawn + 1) : "";
    return text.substring(0, at) + put + text.substring(end);
  }

  private static @Nullable String normalForm(PreparedStatement statement, String text)
      throws SQLException {
    statement.setString(1, text);
    try (ResultSet row = statement.executeQuery()) {
      row.next();
      return row.getString(1);
    } catch (SQLException ex) {
      if (ex.getErrorCode() == MALFORMED_GTID_SET) {
        return null;
      }
      throw ex;
    }
  }

  private static @Nullable GtidSet parsed(String text) {
    try {
      return GtidSet.parse(text);
    } catch (IllegalArgumentException ex) {
      return null;
    }
  }
}
