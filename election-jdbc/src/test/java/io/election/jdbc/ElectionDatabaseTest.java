package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.support.ConnectionSource;
import io.election.support.Proxies;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ElectionDatabaseTest {

  @Test
  void withoutAUrlMessagesNameNoHostUntilTheFirstConnection() {
    ElectionDatabase database = database(null, () -> null);
    assertThat(database.location()).isEqualTo("the election's database");

    database.learn("jdbc:mysql://host:3306/app?password=s3cret", MysqlDialect.MYSQL);

    assertThat(database.location()).isEqualTo("host:3306/app");
  }

  @Test
  void aConnectionThatComesTooLateIsClosed() {
    CountDownLatch slow = new CountDownLatch(1);
    Queue<String> calls = new ConcurrentLinkedQueue<>();
    ElectionDatabase database = database(null, () -> {
      slow.await();
      return connection(calls);
    });

    assertThatThrownBy(() -> database.connect(Deadline.in(Duration.ofMillis(20))))
        .isInstanceOf(SQLTimeoutException.class);
    assertThat(calls).isEmpty();
    slow.countDown();

    Awaitility.await().untilAsserted(() -> assertThat(calls).containsExactly("abort", "close"));
  }

  @Test
  void attemptsThatNeverComeBackDoNotPileUp() {
    CountDownLatch never = new CountDownLatch(1);
    ElectionDatabase database = database(null, () -> {
      never.await();
      return null;
    });

    for (int i = 0; i < 16; i++) {
      assertThatThrownBy(() -> database.connect(Deadline.in(Duration.ofMillis(1))))
          .isInstanceOf(SQLTimeoutException.class);
    }
    assertThatThrownBy(() -> database.connect(Deadline.in(Duration.ofMillis(1))))
        .hasMessageContaining("set connectTimeout and socketTimeout");
    never.countDown();
  }

  @Test
  void aThreadThatCannotBeStartedDoesNotCountForEver() throws Exception {
    AtomicBoolean shortOfThreads = new AtomicBoolean(true);
    Connection connection = connection(new ConcurrentLinkedQueue<>());
    ElectionDatabase database = new ElectionDatabase(
        ConnectionSource.of(() -> connection), null, "a test", (work) -> new Thread(work) {
          @Override
          public void start() {
            if (shortOfThreads.get()) {
              throw new OutOfMemoryError("unable to create native thread");
            }
            super.start();
          }
        });

    for (int i = 0; i < 100; i++) {
      assertThatThrownBy(() -> database.connect(Deadline.in(Duration.ofSeconds(10))))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(
              "No thread is available to connect (unable to create native thread)");
    }
    shortOfThreads.set(false);

    assertThat(database.connect(Deadline.in(Duration.ofSeconds(10)))).isSameAs(connection);
  }

  @Test
  void aSourceThatFailsOtherwiseIsAFailureToConnect() {
    ElectionDatabase database = database(null, () -> {
      throw new IllegalStateException("closed");
    });

    assertThatThrownBy(() -> database.connect(Deadline.in(Duration.ofSeconds(10))))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("closed");
  }

  @Test
  void aConnectionWhoseSetUpFailsWithAnErrorIsClosed() {
    Queue<String> calls = new ConcurrentLinkedQueue<>();
    Connection connection = connection(calls, "getMetaData");

    assertThatThrownBy(() ->
            Session.open(database(null, () -> connection), Deadline.in(Duration.ofSeconds(10)), 1))
        .isInstanceOf(StackOverflowError.class);

    assertThat(calls).endsWith("getMetaData", "abort", "close");
  }

  private static ElectionDatabase database(@Nullable String url, Callable<Connection> connect) {
    return new ElectionDatabase(ConnectionSource.of(connect), url);
  }

  private static Connection connection(Queue<String> calls) {
    return connection(calls, "");
  }

  /** A connection that notes its calls; one of them runs out of stack. */
  private static Connection connection(Queue<String> calls, String failing) {
    return Proxies.of(Connection.class, (method, arguments) -> {
      calls.add(method.getName());
      if (method.getName().equals(failing)) {
        throw new StackOverflowError();
      }
      return null;
    });
  }
}
