package io.election.faults;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.election.test.TestDatabase;
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
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * The network between processes and a server, to be broken on purpose: a TCP proxy on a port of its
 * own.
 *
 * <p>What is lost is held, and flows when the link is healed, as what TCP sends again: statements of a
 * client that has long given up do run.
 */
final class Link implements AutoCloseable {

  /** As much as a packet holds. */
  private static final int CHUNK = 1460;

  private final InetSocketAddress address;

  private final @Nullable TestDatabase database;

  private final Flow requests = new Flow();

  private final Flow answers = new Flow();

  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  private final AtomicLong requestCount = new AtomicLong();

  private final AtomicLong longestWait = new AtomicLong();

  private final AtomicInteger resets = new AtomicInteger();

  private final Object cutterLock = new Object();

  private volatile int target;

  private volatile @Nullable Trap trap;

  private volatile boolean closed;

  private @Nullable ServerSocket listener;

  private @Nullable Thread listening;

  private long resetMillis;

  private Link(InetAddress host, int port, int target, @Nullable TestDatabase database) {
    this.target = target;
    this.database = database;
    listen(new InetSocketAddress(host, port));
    this.address = (InetSocketAddress) this.listener.getLocalSocketAddress();
    daemon("link-cutter", this::resetAgainAndAgain);
  }

  /** A link to a port of this machine. */
  static Link to(int port) {
    return new Link(loopback(), 0, port, null);
  }

  /** A link to the server of a database. */
  static Link to(TestDatabase database) {
    return new Link(loopback(), 0, database.server().port(), database);
  }

  /** A link to the server of a database that listens at an address and port of choice. */
  static Link at(InetAddress host, int port, TestDatabase database) {
    return new Link(host, port, database.server().port(), database);
  }

  private static InetAddress loopback() {
    return InetAddress.getLoopbackAddress();
  }

  int port() {
    return this.address.getPort();
  }

  /** The URL of the database by way of this link. */
  String jdbcUrl() {
    return jdbcUrl(this.address.getAddress().getHostAddress());
  }

  /** The URL of the database by way of a host name that leads to this link. */
  String jdbcUrl(String host) {
    return this.database.jdbcUrl().replaceFirst("//[^/]*/", "//" + host + ":" + port() + "/");
  }

  /** Nothing that clients send arrives. */
  void loseRequests() {
    this.requests.hold();
  }

  /** Nothing that the server sends arrives. */
  void loseAnswers() {
    this.answers.hold();
  }

  /** Nothing arrives, in either direction. */
  void cut() {
    loseRequests();
    loseAnswers();
  }

  /** Refuses new connections; those that are there stay. */
  synchronized void refuse() {
    if (this.listener != null) {
      close(this.listener);
      this.listener = null;
    }
    Thread listening = this.listening;
    if (listening != null) {
      // A socket that a thread waits on goes on accepting until that thread has noticed.
      Awaitility.await("the listener ends").until(() -> !listening.isAlive());
      this.listening = null;
    }
  }

  /** Resets all connections, as a server does that does not know them. */
  void reset() {
    this.connections.forEach(Connection::reset);
  }

  /** Resets all connections again and again, until healed. */
  void resetEvery(Duration interval) {
    synchronized (this.cutterLock) {
      this.resetMillis = interval.toMillis();
      this.cutterLock.notifyAll();
    }
  }

  /** All bytes take their time, in each direction: the delay, and up to the jitter more. */
  void delay(Duration delay, Duration jitter) {
    this.requests.delay(delay, jitter);
    this.answers.delay(delay, jitter);
  }

  /** No more bytes pass in a second, in each direction. */
  void limit(int bytesPerSecond) {
    this.requests.limit(bytesPerSecond);
    this.answers.limit(bytesPerSecond);
  }

  /**
   * Lets the server answer the last of some statements, swallows the answer, and resets the
   * connection. Happens once.
   *
   * @param texts parts of statements that follow each other on one connection, whatever their case
   */
  Trap resetAfterAnswerTo(String... texts) {
    Trap armed = new Trap(texts);
    this.trap = armed;
    return armed;
  }

  /** New connections lead to another port of this machine. */
  void moveTo(int port) {
    this.target = port;
  }

  /** Ends all faults; what was held flows. */
  void heal() {
    this.trap = null;
    resetEvery(Duration.ZERO);
    this.requests.heal();
    this.answers.heal();
    synchronized (this) {
      if (this.listener == null && !this.closed) {
        listen(this.address);
      }
    }
  }

  /** How many packets clients have sent. */
  long requestCount() {
    return this.requestCount.get();
  }

  /** How many connections were reset here. */
  int resetCount() {
    return this.resets.get();
  }

  int connectionCount() {
    return this.connections.size();
  }

  /** How long a client has waited at most until an answer came, or it gave up. */
  Duration longestWait() {
    return Duration.ofNanos(this.longestWait.get());
  }

  @Override
  public void close() {
    this.closed = true;
    refuse();
    reset();
    heal();
  }

  private synchronized void listen(InetSocketAddress where) {
    try {
      ServerSocket socket = new ServerSocket();
      socket.setReuseAddress(true);
      socket.bind(where);
      this.listener = socket;
      this.listening = daemon("link-listener", () -> accept(socket));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void accept(ServerSocket socket) {
    while (true) {
      Socket client;
      try {
        client = socket.accept();
      } catch (IOException ex) {
        return; // refused from now on
      }
      try {
        Socket server = new Socket(loopback(), this.target);
        new Connection(client, server).open();
      } catch (IOException ex) {
        resetSocket(client);
      }
    }
  }

  private void resetAgainAndAgain() {
    try {
      while (!this.closed) {
        synchronized (this.cutterLock) {
          this.cutterLock.wait(this.resetMillis);
          if (this.resetMillis == 0) {
            continue;
          }
        }
        reset();
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void resetSocket(Socket socket) {
    try {
      socket.setSoLinger(true, 0);
    } catch (IOException ex) {
      // It is closed already.
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

  /** A reset that waits for its statements. */
  static final class Trap {

    private final List<String> texts;

    private final AtomicBoolean taken = new AtomicBoolean();

    private volatile boolean sprung;

    private Trap(String... texts) {
      this.texts =
          Arrays.stream(texts).map((text) -> text.toLowerCase(Locale.ROOT)).toList();
    }

    /** Whether the answer was swallowed. */
    boolean isSprung() {
      return this.sprung;
    }
  }

  /** What happens to all that goes in one direction. */
  private static final class Flow {

    private boolean held;

    private long delayNanos;

    private long jitterNanos;

    private long bytesPerSecond;

    private long freeAt;

    synchronized void hold() {
      this.held = true;
    }

    synchronized void delay(Duration delay, Duration jitter) {
      this.delayNanos = delay.toNanos();
      this.jitterNanos = jitter.toNanos();
    }

    synchronized void limit(int bytesPerSecond) {
      this.bytesPerSecond = bytesPerSecond;
      this.freeAt = System.nanoTime();
    }

    synchronized void heal() {
      this.held = false;
      this.delayNanos = 0;
      this.jitterNanos = 0;
      this.bytesPerSecond = 0;
      notifyAll();
    }

    /** When what arrives now may pass. */
    synchronized long due() {
      return System.nanoTime() + this.delayNanos + (long) (Math.random() * this.jitterNanos);
    }

    /** Waits until so many bytes that were due at an instant have passed. */
    synchronized void pass(long due, int bytes) throws InterruptedException {
      while (this.held || (this.delayNanos > 0 && due - System.nanoTime() > 0)) {
        pause(this.held ? Long.MAX_VALUE : due - System.nanoTime());
      }
      if (this.bytesPerSecond > 0) {
        long start = Math.max(this.freeAt, System.nanoTime());
        long end = start + bytes * 1_000_000_000L / this.bytesPerSecond;
        this.freeAt = end;
        while (this.bytesPerSecond > 0 && end - System.nanoTime() > 0) {
          pause(end - System.nanoTime());
        }
      }
    }

    private void pause(long nanos) throws InterruptedException {
      wait(Math.max(1, nanos / 1_000_000));
    }
  }

  /** Bytes on their way; none at the end of a stream. */
  private record Packet(byte[] bytes, long due) {}

  /** One client with its connection to the server. */
  private final class Connection {

    private final Socket client;

    private final Socket server;

    private final Set<Thread> writers = ConcurrentHashMap.newKeySet();

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
      Link.this.connections.add(this);
      pump("link-requests", this.client, this.server, Link.this.requests, true);
      pump("link-answers", this.server, this.client, Link.this.answers, false);
    }

    private void pump(String name, Socket from, Socket to, Flow flow, boolean ask) {
      BlockingQueue<Packet> packets = new LinkedBlockingQueue<>();
      daemon(name + "-in", () -> receive(from, packets, flow, ask));
      daemon(name + "-out", () -> send(packets, to, flow, ask));
    }

    private void receive(Socket from, BlockingQueue<Packet> packets, Flow flow, boolean ask) {
      byte[] buffer = new byte[CHUNK];
      int count;
      do {
        try {
          count = from.getInputStream().read(buffer);
        } catch (IOException ex) {
          count = -1;
        }
        if (ask && count > 0) {
          Link.this.requestCount.incrementAndGet();
          this.askedAt.compareAndSet(0, System.nanoTime());
        } else if (ask) {
          answered();
        }
        packets.add(new Packet(Arrays.copyOf(buffer, Math.max(0, count)), flow.due()));
      } while (count > 0);
    }

    private void send(BlockingQueue<Packet> packets, Socket to, Flow flow, boolean ask) {
      this.writers.add(Thread.currentThread());
      try {
        while (true) {
          Packet packet = packets.take();
          flow.pass(packet.due(), packet.bytes().length);
          if (packet.bytes().length == 0) {
            to.shutdownOutput();
            break;
          }
          if (ask) {
            look(packet.bytes());
          } else {
            Trap trap = this.swallowing;
            if (trap != null) {
              reset();
              trap.sprung = true;
              return;
            }
            answered();
          }
          to.getOutputStream().write(packet.bytes());
        }
        if (this.open.decrementAndGet() == 0) {
          end();
        }
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      } catch (IOException ex) {
        // The other end is gone. What is on the way in the other direction may still arrive.
        if (this.open.decrementAndGet() == 0) {
          end();
        }
      }
    }

    private void answered() {
      long asked = this.askedAt.getAndSet(0);
      if (asked != 0) {
        Link.this.longestWait.accumulateAndGet(System.nanoTime() - asked, Math::max);
      }
    }

    /** Looks for the statements of the trap. */
    private void look(byte[] bytes) {
      Trap trap = Link.this.trap;
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
      if (Link.this.connections.remove(this)) {
        Link.this.resets.incrementAndGet();
      }
      resetSocket(this.client);
      resetSocket(this.server);
      this.writers.forEach(Thread::interrupt);
    }

    private void end() {
      Link.this.connections.remove(this);
      close(this.client);
      close(this.server);
    }
  }
}
