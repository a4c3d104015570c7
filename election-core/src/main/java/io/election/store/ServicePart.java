package io.election.store;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.ElectionService;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A part of a list that is an {@link ElectionService}, in one election. It has neither lease nor
 * term, so it is asked again whenever someone asks whether this node leads, and is taken last and
 * handed back first. It may throw, even an error, or block: then this node does not lead.
 *
 * <p>Thread-safe. Commands follow one another; questions do not wait for them.
 */
final class ServicePart {

  private static final Logger log = LoggerFactory.getLogger(ServicePart.class);

  private final String name;

  private final Supplier<ElectionService> source;

  private final LeaseSettings settings;

  private final Ticker ticker;

  private final Executor executor;

  private final Object commands = new Object();

  /** Supplied by the first call that succeeds; {@code null} before that. */
  private volatile @Nullable ElectionService service;

  /** The last call of {@code lostLeader()} that was ordered. At most one runs or waits to run. */
  private CompletableFuture<Void> leaving = CompletableFuture.allOf();

  /** Whether it named this node when it was asked last. */
  private volatile boolean led;

  /** Whether it was told to lead, and not to let go after that; written by commands. */
  private volatile boolean stood;

  /** When it last answered, or was created. */
  private volatile long answeredAt;

  /** When the call began that {@link #ask} makes; {@code null} if there is none. */
  private volatile @Nullable Long askedAt;

  /** When the command began that runs; {@code null} if none does. */
  private volatile @Nullable Long commandedAt;

  /** The instant from which this node may ask to lead again. */
  private volatile long standsFrom;

  /** When this node last led by the list or claimed its leases, or the part did not name it. */
  private volatile long usedAt;

  /** When it was first told to let go without having done so; {@code null} if it has. */
  private volatile @Nullable Long leavesSince;

  /** Why calls fail; {@code null} if they do not. */
  private volatile @Nullable Failure failure;

  /**
   * Calls that fail.
   *
   * @param since when the first of them failed
   * @param command whether a command failed; that the part answers questions then proves nothing
   * @param text the last failure, for display
   */
  private record Failure(long since, boolean command, String text) {}

  /** A command to the service. */
  @FunctionalInterface
  private interface Command {

    void send() throws Exception;
  }

  ServicePart(
      String name,
      Supplier<ElectionService> source,
      LeaseSettings settings,
      Ticker ticker,
      Executor executor) {
    this.name = name;
    this.source = source;
    this.settings = settings;
    this.ticker = ticker;
    this.executor = executor;
    long now = ticker.read();
    this.answeredAt = now;
    this.standsFrom = now;
    this.usedAt = now;
  }

  String name() {
    return this.name;
  }

  /** Returns the service. Whatever its supplier does counts as a call to it. */
  private ElectionService service() {
    ElectionService known = this.service;
    if (known != null) {
      return known;
    }
    synchronized (this.source) {
      ElectionService service = this.service;
      if (service == null) {
        service = this.source.get();
        this.service = service;
      }
      return service;
    }
  }

  /**
   * Returns the health that a part shows by its calls. A call that fails is not an answer, nor is one
   * to a question while a command does not return.
   */
  StoreHealth health() {
    long now = this.ticker.read();
    Long commandedAt = this.commandedAt;
    long unanswered = now - this.answeredAt;
    Duration silence = Duration.ofNanos(
        commandedAt != null ? Math.max(unanswered, now - commandedAt) : unanswered);
    Failure failure = this.failure;
    return failure == null
        ? new StoreHealth(silence, Duration.ZERO, null)
        : new StoreHealth(silence, Duration.ofNanos(now - failure.since()), failure.text());
  }

  /** Returns the last answer: local, and as old as the last question. */
  boolean isLed() {
    return this.led && !isSilent();
  }

  /** Returns whether a question has not been answered for longer than an operation timeout. */
  boolean isSilent() {
    Long askedAt = this.askedAt;
    return askedAt != null && !isInTime(askedAt);
  }

  private boolean isInTime(long askedAt) {
    return this.ticker.read() - askedAt <= this.settings.operationTimeout().toNanos();
  }

  /** Returns whether the part names this node at this instant. Blocks unless it has been silent. */
  boolean confirms() {
    if (isSilent()) {
      return false;
    }
    try {
      long askedAt = this.ticker.read();
      // The time first: an answer that came late is none.
      return service().isLeader() && isInTime(askedAt);
    } catch (Throwable ex) {
      failed(ex, false);
      return false;
    }
  }

  /**
   * Asks the part, and lets it go if this node has not led by the list for a lease.
   *
   * @return whether it named this node before and no longer does
   */
  boolean ask() {
    boolean before = this.led;
    this.askedAt = this.ticker.read();
    try {
      boolean led = service().isLeader();
      this.answeredAt = this.ticker.read();
      if (led != before) {
        // What was as before may have changed since: another thread may have told it to lead.
        this.led = led;
      }
      if (!led) {
        this.leavesSince = null;
      }
      answered(led);
    } catch (Throwable ex) {
      this.led = false;
      failed(ex, false);
    } finally {
      this.askedAt = null;
    }
    long now = this.ticker.read();
    long lease = this.settings.leaseDuration().toNanos();
    if (!this.led) {
      this.usedAt = now;
    } else if (now - this.usedAt > lease) {
      // Other nodes may be able to lead by all parts, once they have waited for the lease.
      this.usedAt = now;
      this.standsFrom = now + 2 * lease;
      CompletableFuture<?> unused = leaveLater();
    }
    boolean lost = before && !this.led;
    if (lost && this.failure == null) {
      log.info("The part '{}' no longer names this node, which then does not lead", this.name);
    }
    return lost;
  }

  private void answered(boolean led) {
    Long leavesSince = this.leavesSince;
    if (led
        && leavesSince != null
        && this.ticker.read() - leavesSince > this.settings.leaseDuration().toNanos()) {
      failed(
          new IllegalStateException(
              "it still says that this node leads, longer than a lease after lostLeader()"),
          false);
      return;
    }
    Failure failure = this.failure;
    if (failure != null && !failure.command()) {
      works();
    }
  }

  private void works() {
    if (this.failure != null) {
      this.failure = null;
      log.info("The part '{}' works again", this.name);
    }
  }

  /** Notes that this node leads by the list, or is about to. */
  void used() {
    this.usedAt = this.ticker.read();
    this.leavesSince = null;
  }

  /**
   * Tells the part to lead, unless it names this node already, or was told so less than a renew
   * interval ago: a part that cannot lead now may need a while. Blocks as long as it does.
   *
   * @return whether it names this node
   */
  boolean stand() {
    boolean led = confirms();
    if (!led && this.ticker.read() - this.standsFrom >= 0) {
      this.standsFrom = this.ticker.read() + this.settings.renewInterval().toNanos();
      this.leavesSince = null;
      led = command(this::becomeLeader) && confirms();
    }
    this.led = led;
    return led;
  }

  private void becomeLeader() throws Exception {
    this.stood = true;
    service().becomeLeader();
  }

  /**
   * Tells the part to let another node lead. Waits for at most an operation timeout, or until the
   * calling thread is interrupted; the part may be told later then.
   */
  void letGo() {
    if (!this.led && !this.stood) {
      return;
    }
    try {
      leaveLater().get(this.settings.operationTimeout().toNanos(), NANOSECONDS);
      this.led = false;
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    } catch (Throwable ex) {
      failed(ex, true);
    }
  }

  /** Tells it on another thread, unless it is being told: it may block. Throws nothing. */
  private synchronized CompletableFuture<Void> leaveLater() {
    if (this.leaving.isDone()) {
      try {
        this.leaving = CompletableFuture.runAsync(this::leave, this.executor);
      } catch (Throwable ex) {
        failed(ex, true);
      }
    }
    return this.leaving;
  }

  private void leave() {
    if (this.leavesSince == null) {
      this.leavesSince = this.ticker.read();
    }
    command(this::lostLeader);
  }

  private void lostLeader() {
    service().lostLeader();
    this.stood = false;
  }

  /** Returns whether the command succeeded. */
  private boolean command(Command command) {
    synchronized (this.commands) {
      this.commandedAt = this.ticker.read();
      try {
        command.send();
        Failure failure = this.failure;
        if (failure != null && failure.command()) {
          works();
        }
        return true;
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
        return false;
      } catch (Throwable ex) {
        failed(ex, true);
        return false;
      } finally {
        this.commandedAt = null;
      }
    }
  }

  private void failed(Throwable ex, boolean command) {
    Failure known = this.failure;
    this.failure = known != null
        ? new Failure(known.since(), command || known.command(), ex.toString())
        : new Failure(this.ticker.read(), command, ex.toString());
    if (known == null) {
      log.warn(
          "The part '{}' of the election has failed: {}. This node does not lead",
          this.name,
          ex.toString());
    }
  }
}
