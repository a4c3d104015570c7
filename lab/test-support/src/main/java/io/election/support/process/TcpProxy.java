package io.election.support.process;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.election.support.TestDatabase;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy that breaks the network to a server on purpose. Lost data are held, and flow when it
 * is healed: statements of a client that has long given up do run.
 */
public final class TcpProxy implements AutoCloseable {

  private static final int CHUNK = 1460;

  /** A server whose address is gone does not refuse connections. */
  private static final int CONNECT_MILLIS = 5_000;

  private static final int RETRY_MILLIS = 10;

  /** Hundreds of nodes may connect at once. */
  private static final int BACKLOG = 500;

  private final InetSocketAddress address;
  private final InetSocketAddress target;
  private final @Nullable TestDatabase database;
  private final Supplier<ToIntFunction<byte[]>> requestCounters;

  private final Flow requests = new Flow();
  private final Flow answers = new Flow();
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
  private final AtomicLong requestCount = new AtomicLong();
  private final AtomicLong longestWait = new AtomicLong();
  private final AtomicInteger resets = new AtomicInteger();

  private volatile boolean awaitsServer;
  private volatile @Nullable Trap trap;
  private volatile @Nullable Object resetting;
  private @Nullable ServerSocket listener;
  private @Nullable Thread listening;
  private boolean closed;

  private TcpProxy(
      InetSocketAddress where,
      InetSocketAddress target,
      @Nullable TestDatabase database,
      Supplier<ToIntFunction<byte[]>> requestCounters) {
    this.target = target;
    this.database = database;
    this.requestCounters = requestCounters;
    this.address = (InetSocketAddress) listen(where).getLocalSocketAddress();
  }

  /**
   * Opens a proxy to a port of this machine; each packet of a connection is passed to its counter.
   */
  public static TcpProxy to(int port, Supplier<ToIntFunction<byte[]>> requestCounters) {
    return to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), requestCounters);
  }

  public static TcpProxy to(
      InetSocketAddress target, Supplier<ToIntFunction<byte[]>> requestCounters) {
    return new TcpProxy(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), target, null, requestCounters);
  }

  public static TcpProxy to(TestDatabase database) {
    return at(InetAddress.getLoopbackAddress(), 0, database);
  }

  public static TcpProxy at(InetAddress host, int port, TestDatabase database) {
    return new TcpProxy(
        new InetSocketAddress(host, port),
        new InetSocketAddress(
            InetAddress.getLoopbackAddress(), database.server().port()),
        database,
        () -> (packet) -> 1);
  }

  public int port() {
    return this.address.getPort();
  }

  public String jdbcUrl() {
    return jdbcUrl(this.address.getAddress().getHostAddress());
  }

  /** The URL of the database through this proxy, whose address a name resolves to. */
  public String jdbcUrl(String host) {
    return Objects.requireNonNull(this.database, "no database behind this proxy")
        .jdbcUrl()
        .replaceFirst("//[^/]*/", "//" + host + ":" + port() + "/");
  }

  public void loseRequests() {
    this.requests.hold();
  }

  public void loseAnswers() {
    this.answers.hold();
  }

  public void cut() {
    loseRequests();
    loseAnswers();
  }

  /** While no server listens, holds new connections from now on, instead of resetting them. */
  public TcpProxy awaitServer() {
    this.awaitsServer = true;
    return this;
  }

  /** Refuses new connections; existing ones are kept. */
  public synchronized void refuse() {
    if (this.listener != null) {
      close(this.listener);
      this.listener = null;
    }
    Thread listening = this.listening;
    if (listening != null) {
      // A socket that a thread waits on accepts connections until that thread has noticed the
      // close.
      Awaitility.await("the listener ends").until(() -> !listening.isAlive());
      this.listening = null;
    }
  }

  /** Resets all connections, like a server that does not know them. */
  public void reset() {
    this.connections.forEach(Connection::reset);
  }

  /** Resets all connections repeatedly, until the proxy is healed. */
  public void resetEvery(Duration interval) {
    Object fault = new Object();
    this.resetting = fault;
    daemon("proxy-resets", () -> {
      while (this.resetting == fault) {
        reset();
        Thread.sleep(interval.toMillis());
      }
    });
  }

  /** Delays all bytes, in each direction, by a time and a random addition. */
  public void delay(Duration delay, Duration jitter) {
    this.requests.delay(delay, jitter);
    this.answers.delay(delay, jitter);
  }

  public void limit(int bytesPerSecond) {
    this.requests.limit(bytesPerSecond);
    this.answers.limit(bytesPerSecond);
  }

  /**
   * Resets a connection, once, in place of the answer to the last of some statements that follow
   * each other on it; they are known by parts, in any case.
   */
  public Trap resetAfterAnswerTo(String... texts) {
    return arm(new Trap(false, texts));
  }

  /** Holds, like {@link #loseAnswers()}, the answer to the last of such statements. */
  public Trap holdAnswerTo(String... texts) {
    return arm(new Trap(true, texts));
  }

  private Trap arm(Trap armed) {
    this.trap = armed;
    return armed;
  }

  /** Ends all faults; held data flow. */
  public void heal() {
    this.trap = null;
    this.resetting = null;
    this.requests.heal();
    this.answers.heal();
    synchronized (this) {
      if (this.listener == null && !this.closed) {
        listen(this.address);
      }
    }
  }

  /** The number of requests, or of packets if the protocol is not known. */
  public long requestCount() {
    return this.requestCount.get();
  }

  public int resetCount() {
    return this.resets.get();
  }

  public int connectionCount() {
    return this.connections.size();
  }

  /** The longest time that a client has waited until an answer arrived or the client gave up. */
  public Duration longestWait() {
    return Duration.ofNanos(this.longestWait.get());
  }

  @Override
  public void close() {
    synchronized (this) {
      this.closed = true;
    }
    refuse();
    reset();
    heal();
  }

  private synchronized ServerSocket listen(InetSocketAddress where) {
    try {
      ServerSocket socket = new ServerSocket();
      socket.setReuseAddress(true);
      socket.bind(where, BACKLOG);
      this.listener = socket;
      this.listening = daemon("proxy-listener", () -> accept(socket));
      return socket;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Ends with an exception when the proxy refuses connections. */
  private void accept(ServerSocket socket) throws IOException, InterruptedException {
    while (true) {
      Socket client = socket.accept();
      while (!connect(client)) {
        if (!this.awaitsServer || socket.isClosed()) {
          resetSocket(client);
          break;
        }
        Thread.sleep(RETRY_MILLIS);
      }
    }
  }

  /** Connects a client to the server; returns whether the server was reached. */
  private boolean connect(Socket client) {
    Socket server = new Socket();
    try {
      server.connect(this.target, CONNECT_MILLIS);
      new Connection(client, server).open();
      return true;
    } catch (IOException ex) {
      close(server);
      return false;
    }
  }

  private static void resetSocket(Socket socket) {
    try {
      socket.setSoLinger(true, 0);
    } catch (IOException ex) {
      // The socket is already closed.
    }
    close(socket);
  }

  private static void close(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Starts a thread that ends when its socket is closed or it is interrupted. */
  private static Thread daemon(String name, Task task) {
    Thread thread = new Thread(
        () -> {
          try {
            task.run();
          } catch (IOException ex) {
            // closed
          } catch (InterruptedException ex) {
            Thread.currentThread().interrupt();
          }
        },
        name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  @FunctionalInterface
  private interface Task {

    void run() throws IOException, InterruptedException;
  }

  /** A reset, or a hold, that waits for a sequence of statements. */
  public static final class Trap {

    private final boolean holds;
    private final List<String> texts;
    private final AtomicBoolean taken = new AtomicBoolean();
    private volatile boolean sprung;

    private Trap(boolean holds, String... texts) {
      this.holds = holds;
      this.texts =
          Arrays.stream(texts).map((text) -> text.toLowerCase(Locale.ROOT)).toList();
    }

    public boolean isSprung() {
      return this.sprung;
    }
  }

  /** One client with its connection to the server. */
  private final class Connection {

    private final Socket client;
    private final Socket server;
    private final Set<Thread> carriers = ConcurrentHashMap.newKeySet();
    private final AtomicInteger open = new AtomicInteger(2);
    private final AtomicLong askedAt = new AtomicLong();

    private @Nullable Trap seen;
    private int matched;
    private String tail = "";
    private volatile @Nullable Trap swallowing;

    Connection(Socket client, Socket server) throws IOException {
      this.client = client;
      this.server = server;
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
    }

    void open() {
      TcpProxy.this.connections.add(this);
      daemon("proxy-requests", () -> carry(this.client, this.server, TcpProxy.this.requests, true));
      daemon("proxy-answers", () -> carry(this.server, this.client, TcpProxy.this.answers, false));
    }

    /** Carries bytes one way until either end is closed; the other direction may continue. */
    private void carry(Socket from, Socket to, Flow flow, boolean ask) throws InterruptedException {
      this.carriers.add(Thread.currentThread());
      try {
        byte[] buffer = new byte[CHUNK];
        ToIntFunction<byte[]> counter = TcpProxy.this.requestCounters.get();
        for (int n = read(from, buffer); n > 0 && !isSwallowed(ask); n = read(from, buffer)) {
          byte[] bytes = Arrays.copyOf(buffer, n);
          if (ask) {
            TcpProxy.this.requestCount.addAndGet(counter.applyAsInt(bytes));
            this.askedAt.compareAndSet(0, System.nanoTime());
          }
          flow.pass(flow.due(), n);
          if (ask) {
            inspect(bytes);
          } else {
            answered();
          }
          to.getOutputStream().write(bytes);
        }
        if (ask) {
          answered();
        }
        flow.pass(flow.due(), 0);
        to.shutdownOutput();
      } catch (IOException ex) {
        // One end is closed.
      }
      if (this.open.decrementAndGet() == 0) {
        end();
      }
    }

    private static int read(Socket from, byte[] buffer) {
      try {
        return from.getInputStream().read(buffer);
      } catch (IOException ex) {
        return -1;
      }
    }

    /** Resets the connection in place of the answer to the statements of a trap, or holds it. */
    private boolean isSwallowed(boolean ask) {
      Trap swallows = this.swallowing;
      if (ask || swallows == null) {
        return false;
      }
      if (swallows.holds) {
        this.swallowing = null;
        loseAnswers();
      } else {
        reset();
      }
      swallows.sprung = true;
      return !swallows.holds;
    }

    private void answered() {
      long asked = this.askedAt.getAndSet(0);
      if (asked != 0) {
        TcpProxy.this.longestWait.accumulateAndGet(System.nanoTime() - asked, Math::max);
      }
    }

    /** Searches the bytes for the statements of the trap. */
    private void inspect(byte[] bytes) {
      Trap trap = TcpProxy.this.trap;
      if (trap == null) {
        return;
      }
      if (trap != this.seen) {
        this.seen = trap;
        this.matched = 0;
        this.tail = "";
      }
      String text = this.tail + new String(bytes, ISO_8859_1).toLowerCase(Locale.ROOT);
      while (this.matched < trap.texts.size()) {
        String wanted = trap.texts.get(this.matched);
        int found = text.indexOf(wanted);
        if (found < 0) {
          break;
        }
        text = text.substring(found + wanted.length());
        this.matched++;
      }
      this.tail = text.substring(Math.max(0, text.length() - 200));
      if (this.matched == trap.texts.size() && trap.taken.compareAndSet(false, true)) {
        this.swallowing = trap;
      }
    }

    void reset() {
      if (TcpProxy.this.connections.remove(this)) {
        TcpProxy.this.resets.incrementAndGet();
      }
      resetSocket(this.client);
      resetSocket(this.server);
      this.carriers.forEach(Thread::interrupt);
    }

    private void end() {
      TcpProxy.this.connections.remove(this);
      close(this.client);
      close(this.server);
    }
  }
}
