package io.election.autoconfigure.commitfence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.RETURNS_DEEP_STUBS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.election.Fence;
import io.election.autoconfigure.SwitchedElection;
import io.election.jdbc.CommitFence;
import io.election.lease.LeaseElectionService;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.assertj.core.api.InstanceOfAssertFactories;
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
import org.springframework.jdbc.datasource.ConnectionHolder;
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
    FencedDatabase database = mock();
    when(database.isShared(any()))
        .then((call) -> "jdbc:mysql:///orders"
            .equals(call.getArgument(0, DriverManagerDataSource.class).getUrl()));
    when(database.fence()).thenThrow(new AssertionError("not asked"));
    FencedDatabases databases = mock();
    when(databases.fenced()).thenReturn(List.of(database));
    when(databases.setting()).thenReturn("as.election.mysql.commit-fence");
    return new FencedCalls(new FencedConnections(() -> databases));
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
    List<FencedCalls> applications = List.of(this.calls, this.calls, this.calls, calls());
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

  @Test
  void aThreadKeepsTheCallsThatRunAndNothingAfterThem() {
    ThreadLocal<Deque<BoundCall>> running = new ThreadLocal<>();
    BoundCall outer = new BoundCall(running, new SwitchedElection(), 1);
    BoundCall inner = new BoundCall(running, new SwitchedElection(), 1);
    running.set(new ArrayDeque<>(List.of(inner, outer)));
    inner.close();
    assertThat(running.get()).containsExactly(outer);
    outer.close();
    assertThat(running.get()).isNull();
  }

  @Test
  void aTransactionIsFoundUntilItEndsAndItsSavepointIsNot() {
    CommitFenceListener listener = begin(null, false);
    assertThat(this.calls.find(this.transaction)).isNotNull();
    assertThat(this.calls.find(mock())).isNull();
    listener.afterCommit(this.transaction, null);
    assertThat(this.calls.find(this.transaction)).isNull();
  }

  /** Another listener has failed, so that this one was not told of the end. */
  @Test
  void aTransactionWhoseEndIsNotReportedIsForgottenWithTheNextOne() {
    begin(null, false);
    when(this.transaction.isCompleted()).thenReturn(true);
    BoundTerms next = new BoundTerms(mock(), () -> true, null);
    this.calls.began(next);
    this.calls.ended(next);
    assertThat(this.calls.find(this.transaction)).isNull();
  }

  @Test
  void aCallThatBeginsWhenATransactionEndsIsNoPartOfIt(CapturedOutput output) {
    this.bound.close();
    begin(null, true).beforeRollback(this.transaction);
    this.calls.bind(new SwitchedElection(), 1).close();
    assertThat(output).doesNotContain("not fenced");
  }

  /** The connections that it uses can be seen on its thread. */
  @Test
  void aTransactionOfAManagerWithoutAConnectionDependsOnTheTermsOfItsCalls() {
    TransactionSynchronizationManager.initSynchronization();
    try {
      begin(null, true);
      assertThat(TransactionSynchronizationManager.getSynchronizations())
          .singleElement(InstanceOfAssertFactories.type(UnmanagedTransaction.class))
          .satisfies((terms) -> assertThat(terms.numbers()).containsValue(1L));
    } finally {
      TransactionSynchronizationManager.clear();
    }
  }

  /** One of the connections that its thread shows. */
  @ParameterizedTest
  @CsvSource({
    "orders, MySQL, true, true, false, nothing",
    "orders, PostgreSQL, true, true, false, asked",
    "orders, MySQL, true, false, false, asked",
    "orders, MySQL, false, false, true, told",
    "billing, MySQL, false, false, true, asked"
  })
  void aConnectionOfSuchATransactionIsCheckedUnlessItOnlyReads(
      String database,
      String product,
      boolean readOnly,
      boolean connectionIsReadOnly,
      boolean autoCommit,
      String expected,
      CapturedOutput output)
      throws SQLException {
    Connection connection = mock(RETURNS_DEEP_STUBS);
    when(connection.getMetaData().getDatabaseProductName()).thenReturn(product);
    when(connection.isReadOnly()).thenReturn(connectionIsReadOnly);
    when(connection.getAutoCommit()).thenReturn(autoCommit);
    UnmanagedTransaction terms = new UnmanagedTransaction(this.calls.connections(), "manager");
    DataSource source = new DriverManagerDataSource("jdbc:mysql:///" + database);
    TransactionSynchronizationManager.bindResource(source, new ConnectionHolder(connection));
    try {
      Throwable asked = catchThrowable(() -> terms.beforeCommit(readOnly));
      assertThat(asked instanceof AssertionError).isEqualTo(expected.equals("asked"));
    } finally {
      TransactionSynchronizationManager.unbindResource(source);
    }
    assertThat(output.getAll().contains("their connection commits each statement by itself"))
        .isEqualTo(expected.equals("told"));
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

  @Test
  void aTransactionWithoutACallIsNot() {
    this.bound.close();
    CommitFenceListener listener = begin("jdbc:mysql:///orders", false);
    assertThatCode(() -> listener.beforeCommit(this.transaction)).doesNotThrowAnyException();
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

  /** Without a name of the product, its setting is read when its database is found. */
  @Test
  void aDatabaseWhoseFenceIsOffIsNotSpokenOf(CapturedOutput output) {
    FencedDatabases off = mock();
    when(off.fenced()).thenReturn(List.of());
    FencedConnections connections = new FencedConnections(() -> off);
    Connection connection = mock(RETURNS_DEEP_STUBS);
    connections.hold("'manager'", connection, new Terms(), Optional::empty, true);
    connections.warn("'manager'", "they show no JDBC connection");
    assertThat(output).doesNotContain("not fenced");
  }

  @ParameterizedTest
  @ValueSource(strings = {"HY000", "70100", "XA100", "08S01", "42000"})
  void aFailureOfTheDatabaseKeepsItsCause(String state) {
    SQLException failure = new SQLException("Something else", state, 9999);
    Connection connection = (Connection) Proxy.newProxyInstance(
        getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
          throw failure;
        });
    FencedConnections connections = new FencedConnections(() -> {
      throw new AssertionError("not asked");
    });
    FencedDatabase database = mock(FencedDatabase.class);
    when(database.fence()).thenReturn(new CommitFence(Duration.ofSeconds(1), null));
    assertThatThrownBy(() -> connections.hold(
            "'manager'", connection, new Terms(), () -> Optional.of(database), true))
        .isInstanceOf(DataAccessException.class)
        .hasCause(failure);
  }
}
