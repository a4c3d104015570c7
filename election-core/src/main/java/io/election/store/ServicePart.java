package io.election.store;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.ElectionService;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
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

  private final ElectionService service;

  private final LeaseSettings settings;

  private final Ticker ticker;

  private final Executor executor;

  private final Object commands = new Object();

  /** Whether it named this node when it was asked last. */
  private volatile boolean led;

  /** Whether it was told to lead, and not to let go after that. */
  private volatile boolean stood;

  /** When it last answered, or was created. */
  private volatile long answeredAt;

  /** When the call began that {@link #ask} makes; {@code null} if there is none. */
  private volatile @Nullable Long askedAt;

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
      ElectionService service,
      LeaseSettings settings,
      Ticker ticker,
      Executor executor) {
    this.name = name;
    this.service = service;
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

  /** Returns the health that a part shows by its calls. A call that fails is not an answer. */
  StoreHealth health() {
    long now = this.ticker.read();
    Duration silence = Duration.ofNanos(now - this.answeredAt);
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
      return this.service.isLeader() && isInTime(askedAt);
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
      boolean led = this.service.isLeader();
      this.answeredAt = this.ticker.read();
      this.led = led;
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
      leave();
    }
    return before && !this.led;
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
      this.stood = true;
      led = command(this.service::becomeLeader) && confirms();
    }
    this.led = led;
    return led;
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
      CompletableFuture.runAsync(this::leave, this.executor)
          .get(this.settings.operationTimeout().toNanos(), NANOSECONDS);
      this.led = false;
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    } catch (Throwable ex) {
      failed(ex, true);
    }
  }

  private void leave() {
    if (this.leavesSince == null) {
      this.leavesSince = this.ticker.read();
    }
    if (command(this.service::lostLeader)) {
      this.stood = false;
    }
  }

  /** Returns whether the command succeeded. */
  private boolean command(Command command) {
    synchronized (this.commands) {
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
          "The part '{}' of the election has failed: {}. This node does not lead", this.name, ex);
    }
  }
}
