package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ConnectBackoffTest {

  private static final SQLException WRONG = new SQLException("Access denied", "28000", 1045);

  private static final SQLException LOCKED = new SQLException("Account is locked", "HY000", 3118);

  private static final SQLException CROWDED = new SQLException("Too many", "08004", 1040);

  private static final SQLException LATE =
      new SQLException("no answer", "08S01", new SocketTimeoutException());

  private static final SQLException DOWN = new SQLException("going down", "08S01", 1053);

  private final AtomicLong nanos = new AtomicLong();

  private final ConnectBackoff backoff = new ConnectBackoff(this.nanos::get);

  private @Nullable SQLException answer = WRONG;

  private int logins;

  @AutoClose("shutdownNow")
  private final ExecutorService executor = Executors.newCachedThreadPool();

  /** An elector that cannot reach its store calls it several times a second. */
  @Test
  void wrongPasswordIsNotSentFiveTimesInSevenMinutes() {
    for (int i = 0; i < 7 * 60 * 4; i++) {
      attempt("secret");
      pass(Duration.ofMillis(250));
    }
    assertThat(this.logins).isBetween(3, 4);
  }

  @Test
  void aRefusedUserGetsTheSameMessageAsBefore() {
    attempt("secret");
    assertThatThrownBy(() -> connect("server", "secret"))
        .isInstanceOfSatisfying(SQLException.class, (ex) -> {
          assertThat(ex.getErrorCode()).isEqualTo(1045);
          assertThat(ex.getSQLState()).isEqualTo("28000");
        })
        .hasMessage("Access denied")
        .isNotSameAs(WRONG);
    assertThat(this.logins).isEqualTo(1);
  }

  @Test
  void pauseLastsHalfAMinuteAndAtMostHalfAsLongAgain() {
    attempt("secret");
    pass(Duration.ofMillis(29_999));
    attempt("secret");
    assertThat(this.logins).isEqualTo(1);
    pass(Duration.ofSeconds(15));
    attempt("secret");
    assertThat(this.logins).isEqualTo(2);
  }

  @Test
  void accountThatIsLockedIsTriedEachHalfMinute() {
    this.answer = LOCKED;
    for (int i = 0; i < 10; i++) {
      attempt("secret");
      pass(Duration.ofSeconds(45));
    }
    assertThat(this.logins).isEqualTo(10);
  }

  @Test
  void changedLoginIsSentAtOnceAndWorks() {
    attempt("old");
    this.answer = null;
    attempt("old");
    assertThat(this.logins).isEqualTo(1);
    attempt("new");
    assertThat(this.logins).isEqualTo(2);
    attempt("new");
    assertThat(this.logins).as("nothing is remembered").isEqualTo(3);
  }

  @Test
  void loginThatDiffersAtEachCallIsNotSentAtEachCall() {
    for (int i = 0; i < 100; i++) {
      attempt("token " + i);
      pass(Duration.ofMillis(250));
    }
    assertThat(this.logins).isBetween(2, 6);
  }

  @Test
  void unknownLoginWaitsToo() {
    attempt(null);
    attempt(null);
    assertThat(this.logins).isEqualTo(1);
  }

  @Test
  void refusalOfOneServerKeepsNoOtherFromBeingTried() {
    attempt("secret");
    attempt("other server", "secret");
    assertThat(this.logins).isEqualTo(2);
  }

  @Test
  void networkFailuresAndLackOfConnectionsAreRetriedAtOnce() {
    for (SQLException failure : new SQLException[] {LATE, DOWN, CROWDED}) {
      this.answer = failure;
      attempt("secret");
      attempt("secret");
    }
    assertThat(this.logins).isEqualTo(6);
  }

  @Test
  void callersThatNeedNoConnectionLeaveTheLastOnesToOthers() {
    assertThat(this.backoff.isCrowded()).isFalse();
    this.answer = CROWDED;
    attempt("secret");
    pass(Duration.ofMinutes(5).minusMillis(1));
    assertThat(this.backoff.isCrowded()).isTrue();
    pass(Duration.ofMillis(1));
    assertThat(this.backoff.isCrowded()).isFalse();
  }

  /** Servers can be told to answer failed logins later and later. */
  @Test
  void afterARefusalATimeoutCountsAsOne() {
    attempt("secret");
    pass(Duration.ofSeconds(45));
    this.answer = LATE;
    attempt("secret");
    attempt("secret");
    assertThat(this.logins).isEqualTo(2);
    pass(Duration.ofSeconds(90));
    attempt("secret");
    assertThat(this.logins).isEqualTo(3);
  }

  @Test
  void afterARefusalAnotherFailureIsRetriedAtOnce() {
    attempt("secret");
    pass(Duration.ofSeconds(45));
    this.answer = DOWN;
    attempt("secret");
    attempt("secret");
    assertThat(this.logins).isEqualTo(3);
  }

  @Test
  void nextAttemptIsMadeByOneThread() throws Exception {
    attempt("secret");
    pass(Duration.ofSeconds(45));
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    Future<Connection> first =
        this.executor.submit(() -> this.backoff.connect("server", "secret", () -> {
          begun.countDown();
          try {
            end.await();
          } catch (InterruptedException ex) {
            throw new SQLException(ex);
          }
          return connection();
        }));
    begun.await();
    attempt("secret");
    assertThat(this.logins).isEqualTo(1);
    end.countDown();
    first.get();
    attempt("secret");
    assertThat(this.logins).as("the login works again").isEqualTo(2);
  }

  private void pass(Duration time) {
    this.nanos.addAndGet(time.toNanos());
  }

  private void attempt(@Nullable String password) {
    attempt("server", password);
  }

  private void attempt(String server, @Nullable String password) {
    try {
      connect(server, password);
    } catch (SQLException ex) {
      assertThat(ex.getErrorCode()).isIn(0, 1040, 1045, 1053, 3118);
    }
  }

  private Connection connect(String server, @Nullable String password) throws SQLException {
    return this.backoff.connect(server, password, () -> {
      this.logins++;
      if (this.answer != null) {
        throw this.answer;
      }
      return connection();
    });
  }

  private static Connection connection() {
    return (Connection) Proxy.newProxyInstance(
        ConnectBackoffTest.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> null);
  }
}
