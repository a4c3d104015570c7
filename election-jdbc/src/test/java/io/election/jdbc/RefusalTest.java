package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.net.SocketTimeoutException;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.time.Duration;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;

class RefusalTest {

  @ParameterizedTest
  @CsvSource(
      nullValues = "none",
      value = {
        "1045,28000,Access denied,LOGIN",
        "1698,28000,Access denied,LOGIN",
        "9999,28000,a proxy's own number,LOGIN",
        "0,08001,Public Key Retrieval is not allowed,LOGIN",
        "-1,42000,Cannot use authentication plugin,LOGIN",
        "1044,42000,Access denied to database,ACCOUNT",
        "3955,HY000,Account is blocked,ACCOUNT",
        "4150,HY000,User is blocked,ACCOUNT",
        "3118,HY000,Account is locked,ACCOUNT",
        "4151,HY000,Account is locked,ACCOUNT",
        "1862,HY000,Your password has expired,ACCOUNT",
        "1129,HY000,Host is blocked,ACCOUNT",
        "1130,HY000,Host is not allowed,ACCOUNT",
        "1226,42000,exceeded the 'max_connections_per_hour' resource,QUOTA",
        "1226,42000,exceeded the 'max_questions' resource,QUOTA",
        "1226,42000,exceeded the 'max_user_connections' resource,CROWDED",
        "1040,08004,Too many connections,CROWDED",
        "1203,42000,max_user_connections,CROWDED",
        "0,53300,too many clients already,CROWDED",
        "0,28P01,password authentication failed,LOGIN",
        "0,28000,LDAP authentication failed for user,LOGIN",
        "0,28000,role is not permitted to log in,ACCOUNT",
        "0,28000,no pg_hba.conf entry for host,ACCOUNT",
        "0,08P01,FATAL: SASL authentication failed,LOGIN",
        "0,08P01,FATAL: no more connections allowed (max_client_conn),CROWDED",
        "1049,42000,Unknown database,none",
        "1047,08S01,WSREP has not yet prepared node,none",
        "1053,08S01,Server shutdown in progress,none",
        "1290,HY000,read-only,none",
      })
  void failureToConnectIsClassified(int code, String state, String text, @Nullable Refusal cause) {
    assertThat(Refusal.of(new SQLException(text, state, code), true)).isEqualTo(cause);
  }

  @Test
  void networkIsNotARefusalButAnUntrustedCertificateIs() {
    assertThat(Refusal.of(failure(new EOFException()), true)).isNull();
    assertThat(Refusal.of(failure(new SocketTimeoutException()), true)).isNull();
    assertThat(Refusal.of(failure(new SSLHandshakeException("cut")), true)).isNull();
    Exception untrusted = new SSLHandshakeException("untrusted");
    untrusted.initCause(new CertificateException());
    assertThat(Refusal.of(failure(untrusted), true)).isEqualTo(Refusal.CERTIFICATE);
  }

  /** A pool has failures of its own without a number, for instance if it is exhausted. */
  @Test
  void failureWithoutANumberIsARefusalOnlyIfItIsTheDriversOwn() {
    SQLException failure = new SQLException("Connection is not available", "08001");
    assertThat(Refusal.of(failure, false)).isNull();
    assertThat(Refusal.of(failure, true)).isEqualTo(Refusal.LOGIN);
  }

  /** For instance if it gave up by the {@code loginTimeout} of the URL; its servers count no logins. */
  @Test
  void whatPostgresqlsDriverRaisesIsNoRefusal() {
    SQLException failure =
        new PSQLException("Connection attempt timed out.", PSQLState.CONNECTION_UNABLE_TO_CONNECT);
    assertThat(Refusal.of(failure, true)).isNull();
  }

  /** Servers lock an account after a number of failed logins; five are common. */
  @Test
  void fiveWrongPasswordsTakeMinutes() {
    Duration fifth = Duration.ZERO;
    for (int earlier = 0; earlier < 4; earlier++) {
      fifth = fifth.plus(Refusal.LOGIN.pause(earlier));
    }
    assertThat(fifth).isGreaterThanOrEqualTo(Duration.ofMinutes(7));
    assertThat(Refusal.LOGIN.pause(0)).isEqualTo(Duration.ofSeconds(30));
    assertThat(Refusal.LOGIN.pause(1_000)).isEqualTo(Duration.ofMinutes(8));
    assertThat(Refusal.ACCOUNT.pause(1_000)).isEqualTo(Duration.ofSeconds(30));
  }

  private static SQLException failure(Exception cause) {
    return new SQLException("Communications link failure", "08S01", cause);
  }
}
