package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.support.ConnectionSource;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What operators read, where no server is needed to cause it. */
class DiagnosisTest {

  private static final String URL = "jdbc:mysql://host/app";

  @ParameterizedTest
  @CsvSource({
    "500, within 5000 ms.",
    "4999, within 5000 ms.",
    "5000, within 5000 ms (as.election.operation-timeout).",
    "7000, within 7000 ms (as.election.operation-timeout)."
  })
  void theTimeOutIsTheOneThatApplied(long operationTimeout, String told) {
    LeaderElectionSchema schema = new LeaderElectionSchema(
        failing(new SQLTimeoutException("late")), true, true, Duration.ofMillis(operationTimeout));
    assertThatThrownBy(schema::ensure).hasMessageContaining("host/app did not answer " + told);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Public Key Retrieval is not allowed",
        "RSA public key is not available client side (option serverRsaPublicKeyFile not set)"
      })
  void aPasswordThatTheDriverDoesNotSendIsToldWithWhatToDo(String message) {
    assertThat(told(new SQLException(message, "08001")))
        .contains(message, "sslMode", "allowPublicKeyRetrieval=true");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "(utf8mb4_bin,IMPLICIT) and (latin1_swedish_ci,COERCIBLE); Remove characterEncoding",
        "(gbk_chinese_ci,COERCIBLE) and (utf8mb4_bin,IMPLICIT); Remove characterEncoding",
        "(utf8mb4_bin,IMPLICIT) and (utf8mb4_general_ci,IMPLICIT); Give all names the collation",
        "(latin1_swedish_ci,IMPLICIT) and (utf8mb4_general_ci,COERCIBLE); Give all names the collation"
      })
  void whatDiffersInItsCollationIsTold(String sides, String told) {
    assertThat(told(new SQLException(
            "Illegal mix of collations %s for operation '='".formatted(sides), "HY000", 1267)))
        .contains(told);
  }

  /** PostgreSQL has no numbers. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "57P01; terminating connection due to administrator command; ended by a shutdown",
        "57P02; terminating connection because of crash of another server process; crash of the server",
        "57P03; the database system is starting up; is starting, shutting down or recovering",
        "08P01; no more connections allowed (max_client_conn); has no connection left (",
        "08P01; SASL authentication failed; refuses the user (",
        "08P01; no such database: app; The database does not exist: ",
        "08P01; query_wait_timeout; No connection to host/app can be opened (",
        "42501; permission denied for function pg_control_system; GRANT EXECUTE ON FUNCTION pg_control_system() TO",
        "25006; cannot execute LISTEN during recovery; is read-only (",
        "0A000; cannot set transaction read-write mode during recovery; is read-only (",
        "0A000; cached plan must not change result type; : SQL state 0A000: cached plan",
        "57P05; terminating connection due to idle-session timeout; or idle_session_timeout (",
        "08P01; unsupported startup parameter: search_path; in ignore_startup_parameters what is named here",
        "08P01; transaction blocks not allowed in statement pooling mode; pool_mode=transaction",
        "57P04; database was dropped; : SQL state 57P04: database"
      })
  void whatPostgresqlSaysIsExplained(String state, String text, String told) {
    SQLException failure = new SQLException("FATAL: " + text, state);
    assertThat(Diagnosis.of(
                failure, "Reading", failing(failure, "jdbc:postgresql://host/app"), null, "1 ms")
            .getMessage()
            .replace("FATAL: ", ""))
        .contains(told, text)
        .doesNotContain("error 0");
  }

  private static String told(SQLException failure) {
    return Diagnosis.of(failure, "Reading", failing(failure), null, "1 ms").getMessage();
  }

  private static ElectionDatabase failing(SQLException failure) {
    return failing(failure, URL);
  }

  private static ElectionDatabase failing(SQLException failure, String url) {
    return new ElectionDatabase(
        ConnectionSource.of(() -> {
          throw failure;
        }),
        url);
  }
}
