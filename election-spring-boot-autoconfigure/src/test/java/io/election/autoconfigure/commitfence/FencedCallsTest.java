package io.election.autoconfigure.commitfence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.mock;

import io.election.Fence;
import io.election.autoconfigure.SwitchedElection;
import io.election.lease.LeaseElectionService;
import io.election.mysql.CommitFence;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** What the commit fence refuses and tells, without a database. */
@ExtendWith(OutputCaptureExtension.class)
class FencedCallsTest {

  private final TransactionExecution transaction = mock();

  private final FencedCalls calls = calls();

  private static FencedCalls calls() {
    return new FencedCalls(new FencedConnections(
        () -> {
          throw new AssertionError("not asked");
        },
        () -> (dataSource) ->
            "jdbc:mysql:///orders".equals(((DriverManagerDataSource) dataSource).getUrl())));
  }

  private final Fence.Bound bound = this.calls.bind(new SwitchedElection(), 1);

  @AfterEach
  void end() {
    this.bound.close();
    Optional.ofNullable(this.calls.find(this.transaction)).ifPresent(this.calls::ended);
  }

  @Test
  void electionsWithLeasesHaveTerms() {
    assertThat(this.calls.appliesTo(mock(LeaseElectionService.class))).isTrue();
    assertThat(this.calls.appliesTo(new SwitchedElection())).isFalse();
  }

  @Test
  void eachApplicationFencesAManagerThatTheyShareOnce() {
    DataSourceTransactionManager manager =
        new DataSourceTransactionManager(new DriverManagerDataSource());
    FencedCalls other = calls();
    for (int i = 0; i < 2; i++) {
      CommitFenceInstaller installer = new CommitFenceInstaller(() -> this.calls);
      assertThat(installer.postProcessAfterInitialization(manager, "manager")).isSameAs(manager);
      assertThat(manager.getTransactionExecutionListeners()).hasSize(1);
    }
    new CommitFenceInstaller(() -> other).postProcessAfterInitialization(manager, "manager");
    assertThat(manager.getTransactionExecutionListeners()).hasSize(2);
  }

  @Test
  void eachApplicationFencesATransactionOfAManagerThatIsNoBeanOnce() {
    List<FencedCalls> applications = List.of(this.calls, this.calls, calls());
    List<Fence.Bound> bound = new ArrayList<>();
    TransactionSynchronizationManager.initSynchronization();
    TransactionSynchronizationManager.setActualTransactionActive(true);
    try {
      applications.forEach((calls) -> bound.add(0, calls.bind(new SwitchedElection(), 1)));
      assertThat(TransactionSynchronizationManager.getSynchronizations()).hasSize(2);
    } finally {
      TransactionSynchronizationManager.clear();
      bound.forEach(Fence.Bound::close);
    }
  }

  /** A manager of messages has no database; that of JPA may show none. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "jdbc:mysql:///billing | false | are not fenced: they show no JDBC connection",
        "| true | are not fenced: its synchronization is switched off",
        "| false |"
      })
  void managerWithoutAConnectionIsToldOf(
      @Nullable String url, boolean opaque, @Nullable String told, CapturedOutput output) {
    begin(url, opaque).beforeCommit(this.transaction);
    if (told != null) {
      assertThat(output).contains(told);
    } else {
      assertThat(output).doesNotContain("not fenced");
    }
  }

  @Test
  void managerOfTheElectionsDatabaseThatShowsNoConnectionIsRefused() {
    CommitFenceListener listener = begin("jdbc:mysql:///orders", false);
    assertThatIllegalStateException()
        .isThrownBy(() -> listener.beforeCommit(this.transaction))
        .withMessageContaining("as.election.mysql.commit-fence=false");
  }

  /** Begins a transaction within a call. */
  private CommitFenceListener begin(@Nullable String url, boolean opaque) {
    CommitFenceListener listener = new CommitFenceListener(
        () -> this.calls,
        "manager",
        url != null ? new DriverManagerDataSource(url) : null,
        opaque,
        () -> true);
    listener.afterBegin(this.transaction, null);
    return listener;
  }

  @ParameterizedTest
  @ValueSource(strings = {"HY000", "70100", "XA100", "08S01", "42000"})
  void aFailureOfTheDatabaseKeepsItsCause(String state) {
    SQLException failure = new SQLException("Something else", state, 9999);
    Connection connection = (Connection) Proxy.newProxyInstance(
        getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
          throw failure;
        });
    FencedConnections connections =
        new FencedConnections(() -> new CommitFence(Duration.ofSeconds(1)), () -> {
          throw new AssertionError("not asked");
        });
    assertThatThrownBy(
            () -> connections.hold("'manager'", connection, new Terms(), () -> true, true))
        .isInstanceOf(DataAccessException.class)
        .hasCause(failure);
  }
}
