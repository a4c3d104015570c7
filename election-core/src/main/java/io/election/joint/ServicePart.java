package io.election.joint;

import io.election.ElectionService;
import io.election.joint.PartView.Holder;
import io.election.lease.LeaseSettings;
import io.election.lease.StoreHealth;
import io.election.lease.Ticker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A part that is an {@link ElectionService}: an election of the application, or one by manual
 * allocation. It has neither term nor deadline, and is only as safe as its implementation. It may
 * throw, even an error, or block: then this node does not lead.
 */
final class ServicePart implements Part {

  private static final Logger log = LoggerFactory.getLogger(ServicePart.class);

  /** The next command for the part. */
  private enum Wish {
    STAND,
    LEAVE
  }

  private final String name;

  private final ElectionService service;

  private final LeaseSettings settings;

  private final Ticker ticker;

  private final AtomicReference<Wish> wish = new AtomicReference<>();

  /** The last answer, and when the part was asked. */
  private volatile boolean led;

  private volatile long askedAt;

  /** The instant from which this node may ask to lead. */
  private volatile long standsFrom;

  /**
   * When the part was first told to let go without having done so; {@code null} if it has. Read and
   * written by the thread that calls the part.
   */
  private @Nullable Long leavesSince;

  /** Why calls fail; {@code null} if they do not. */
  private volatile @Nullable Failure failure;

  /**
   * Calls that fail.
   *
   * @param since when the first of them failed
   * @param told whether a command failed; that the part answers questions then proves nothing
   * @param text the last failure, for display
   */
  private record Failure(long since, boolean told, String text) {}

  ServicePart(String name, ElectionService service, LeaseSettings settings, Ticker ticker) {
    this.name = name;
    this.service = service;
    this.settings = settings;
    this.ticker = ticker;
    this.askedAt = ticker.read();
    this.standsFrom = ticker.read();
  }

  @Override
  public String name() {
    return this.name;
  }

  @Override
  public ElectionService service() {
    return this.service;
  }

  @Override
  public PartView glance() {
    return view();
  }

  @Override
  public PartView view() {
    boolean leads = leads();
    return new PartView(leads, leads, 0, false, 0, Duration.ZERO, silence(), Holder.OTHER);
  }

  /** Returns the last answer, unless it is too old. */
  private boolean leads() {
    return this.led && isFresh(this.askedAt);
  }

  /**
   * Returns whether an answer counts: from when the part was asked, it is valid for one operation
   * timeout. One that took longer is none.
   */
  private boolean isFresh(long askedAt) {
    return this.ticker.read() - askedAt <= this.settings.operationTimeout().toNanos();
  }

  private Duration silence() {
    return Duration.ofNanos(this.ticker.read() - this.askedAt);
  }

  /** Returns the health as shown by its calls. A call that fails is not an answer. */
  StoreHealth health() {
    Failure failure = this.failure;
    return failure == null
        ? new StoreHealth(silence(), Duration.ZERO, null)
        : new StoreHealth(
            silence(), Duration.ofNanos(this.ticker.read() - failure.since()), failure.text());
  }

  /**
   * Returns whether the part confirms this node as its leader at this instant. Blocks as long as the
   * part does, unless it has been silent.
   */
  boolean isLeaderNow() {
    try {
      long askedAt = this.ticker.read();
      return leads() && this.service.isLeader() && isFresh(askedAt);
    } catch (Throwable ex) {
      failed(ex, false);
      return false;
    }
  }

  @Override
  public void stand() {
    if (this.ticker.read() - this.standsFrom >= 0) {
      // Not again at once: a part that cannot lead now may need a while.
      this.standsFrom = this.ticker.read() + this.settings.renewInterval().toNanos();
      this.wish.set(Wish.STAND);
    }
  }

  @Override
  public void handBack(Duration aside) {
    this.standsFrom = this.ticker.read() + aside.toNanos();
    this.wish.set(Wish.LEAVE);
  }

  @Override
  public void wakeUp() {}

  /**
   * Sends the part its next command, if any, and asks it whether this node leads. May block. Called
   * by a thread of its own.
   */
  void call() {
    Wish wish = this.wish.getAndSet(null);
    try {
      if (wish == Wish.LEAVE) {
        this.service.lostLeader();
      } else if (wish == Wish.STAND && !this.service.isLeader()) {
        this.service.becomeLeader();
      }
      long askedAt = this.ticker.read();
      this.led = this.service.isLeader();
      this.askedAt = askedAt;
      Failure failure = this.failure;
      if (holdsOn(wish, askedAt)) {
        failed(
            new IllegalStateException(
                "it still says that this node leads, longer than a lease after lostLeader()"),
            true);
      } else if (failure != null && (wish != null || !failure.told())) {
        this.failure = null;
        log.info("The part '{}' works again", this.name);
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    } catch (Throwable ex) {
      this.led = false;
      failed(ex, wish != null);
    }
  }

  /** Whether the part has not let go for longer than a lease: until it does, no node can lead. */
  private boolean holdsOn(@Nullable Wish wish, long now) {
    if (!this.led || wish == Wish.STAND) {
      this.leavesSince = null;
    } else if (wish == Wish.LEAVE && this.leavesSince == null) {
      this.leavesSince = now;
    }
    Long since = this.leavesSince;
    return since != null && now - since > this.settings.leaseDuration().toNanos();
  }

  private void failed(Throwable ex, boolean told) {
    Failure known = this.failure;
    this.failure = known != null
        ? new Failure(known.since(), told || known.told(), ex.toString())
        : new Failure(this.ticker.read(), told, ex.toString());
    if (known == null) {
      log.warn(
          "The part '{}' of the election has failed: {}. This node does not lead", this.name, ex);
    }
  }
}
