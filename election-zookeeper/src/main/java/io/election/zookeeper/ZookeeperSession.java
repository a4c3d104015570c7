package io.election.zookeeper;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.keyvalue.LoginPause;
import io.election.store.LeaseStoreException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.jute.BinaryOutputArchive;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.MultiOperationRecord;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The only session of a store, which decides nothing. It is opened by the first call, and
 * replaced after any failure by one with the next server: a client of ZooKeeper that has lost its
 * connection waits for up to a second before it connects again, and a new client does not.
 *
 * <p>Use it from one thread at a time, except for {@link #client()}.
 */
final class ZookeeperSession {

  /** A server that has no other limit closes the connection on a request of about so many bytes. */
  private static final long SERVERS_LIMIT = 1_000_000;

  private static final String NOT_AUTHENTICATED =
      "the client could not authenticate. Check the credentials, and the settings of SASL. The log of ZooKeeper's client says more. A node repeats a refused login after 30 to 45 s";

  private final ZookeeperConnection connection;
  private final Consumer<ZooKeeper> opened;
  private final LoginPause<KeeperException> pause;
  private volatile @Nullable ZooKeeper client;

  /**
   * Whether the login of the client has failed. Then it may still be connected, as a stranger: for
   * instance if Kerberos has refused the password.
   */
  private AtomicBoolean refused = new AtomicBoolean();

  private long deadline;
  private int next;
  private String server = "";

  /**
   * Creates a session that is not open.
   *
   * @param opened is called with each new client
   * @param ticker the monotonic clock of the pause after a refused login, in nanoseconds
   */
  ZookeeperSession(
      ZookeeperConnection connection, Consumer<ZooKeeper> opened, LongSupplier ticker) {
    this.connection = connection;
    this.opened = opened;
    this.pause = new LoginPause<>(ticker);
  }

  /** Returns the client that is in use; {@code null} if there is none. Thread-safe. */
  @Nullable
  ZooKeeper client() {
    return this.client;
  }

  /**
   * Begins an operation, whose calls end together within the operation time-out. They all use one
   * session, which never goes back to an earlier state, even on another connection.
   */
  void begin() {
    this.deadline = System.nanoTime() + this.connection.operationTimeout().toNanos();
    ZooKeeper client = this.client;
    if (client != null && !client.getState().isConnected()) {
      drop();
    }
  }

  private ZooKeeper open(String what) throws LeaseStoreException {
    KeeperException refusal = this.pause.begin();
    if (refusal != null) {
      throw failure(what, NOT_AUTHENTICATED, refusal);
    }
    List<String> servers = this.connection.servers();
    this.server = servers.get(this.next++ % servers.size());
    AtomicBoolean refused = new AtomicBoolean();
    this.refused = refused;
    try {
      ZooKeeper client = this.connection.open(
          this.server,
          (event) -> refused.compareAndSet(false, event.getState() == KeeperState.AuthFailed));
      this.client = client;
      this.opened.accept(client);
      return client;
    } catch (IOException | RuntimeException ex) {
      throw failure("Opening a session", String.valueOf(ex.getMessage()), ex);
    }
  }

  /**
   * Executes operations by one request: all or none of them if they write.
   *
   * @param what what they do, as the subject of the sentence that explains a failure
   * @return the result of each; an {@link OpResult.ErrorResult} if it failed
   * @throws LeaseStoreException if the outcome is unknown
   */
  List<OpResult> multi(String what, List<Op> operations) throws LeaseStoreException {
    ZooKeeper used = this.client;
    ZooKeeper client = used != null ? used : open(what);
    CompletableFuture<Answer> pending = new CompletableFuture<>();
    try {
      client.multi(
          operations,
          (rc, path, context, results) -> pending.complete(new Answer(Code.get(rc), results)),
          null);
      Answer answer = pending.get(this.deadline - System.nanoTime(), NANOSECONDS);
      if (answer.results() == null || isRefused(client)) {
        throw failure(what, client, operations, answer.code());
      }
      this.pause.granted();
      return answer.results();
    } catch (TimeoutException ex) {
      throw failure(what, client, operations, Code.REQUESTTIMEOUT);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw failure(what, "the thread was interrupted", ex);
    } catch (ExecutionException | RuntimeException ex) {
      throw failure(what, String.valueOf(ex.getMessage()), ex);
    }
  }

  /**
   * The answer to a request.
   *
   * @param results what it did; {@code null} if it was not answered
   */
  private record Answer(Code code, @Nullable List<OpResult> results) {}

  private boolean isRefused(ZooKeeper client) {
    return this.refused.get() || client.getState() == ZooKeeper.States.AUTH_FAILED;
  }

  private LeaseStoreException failure(
      String what, ZooKeeper client, List<Op> operations, Code code) {
    // A client whose login failed may leave requests without an answer.
    KeeperException cause = KeeperException.create(isRefused(client) ? Code.AUTHFAILED : code);
    if (cause.code() == Code.AUTHFAILED) {
      this.pause.refused(cause);
    } else {
      this.pause.failed(code == Code.REQUESTTIMEOUT);
    }
    return failure(what, explain(cause.code(), client, operations), cause);
  }

  private LeaseStoreException failure(String what, String problem, Throwable cause) {
    drop();
    return new LeaseStoreException(
        "%s by the ZooKeeper server %s failed: %s".formatted(what, this.server, problem), cause);
  }

  private String explain(Code code, ZooKeeper client, List<Op> operations) {
    boolean reached = client.getSessionId() != 0;
    return switch (code) {
      case CONNECTIONLOSS, REQUESTTIMEOUT ->
        (!reached
                ? "it was not reached within %s ms. Does it run, do both use TLS or not, and do they trust their certificates? The log of ZooKeeper's client says more"
                : code == Code.CONNECTIONLOSS
                    ? lost(bytes(operations))
                    : "it has not answered within %s ms. Has it lost its quorum?")
            .formatted(this.connection.operationTimeout().toMillis());
      case SESSIONEXPIRED ->
        "the session has expired, which ends no leadership; the next call opens another";
      case AUTHFAILED -> NOT_AUTHENTICATED;
      case UNIMPLEMENTED ->
        "it is older than 3.6 and cannot read several nodes at once. Upgrade it";
      default -> code.name();
    };
  }

  private static String lost(long bytes) {
    String lost = "the connection was lost";
    return bytes < SERVERS_LIMIT
        ? lost
        : lost
            + " on a request of "
            + bytes
            + " bytes. Start each server with a greater -Djute.maxbuffer, which is 1048575 by default, or let this node stand for fewer elections";
  }

  private static long bytes(List<Op> operations) {
    BinaryOutputArchive archive = BinaryOutputArchive.getArchive(OutputStream.nullOutputStream());
    try {
      new MultiOperationRecord(operations).serialize(archive, "");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    return archive.getDataSize();
  }

  /**
   * Gives the session up, on a thread of its own, since the server may not answer. Without a thread,
   * waits for the server, for no longer than a call may take.
   */
  @Nullable
  Thread drop() {
    ZooKeeper client = this.client;
    this.client = null;
    if (client == null) {
      return null;
    }
    try {
      Thread closing = new Thread(() -> close(client), "election-zookeeper-close");
      closing.setDaemon(true);
      closing.start();
      return closing;
    } catch (OutOfMemoryError ex) {
      // The threads of an abandoned client would never end.
      close(client);
      return null;
    }
  }

  private static void close(ZooKeeper client) {
    try {
      client.close();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  /** Closes the session; waits for no longer than a call may take. */
  void close() {
    Thread closing = drop();
    if (closing != null) {
      try {
        closing.join(this.connection.operationTimeout().toMillis());
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
