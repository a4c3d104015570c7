package io.election.autoconfigure.leaderonly;

import io.election.Fence.Bound;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The permits of one election. One serves some work after the other, so that a call allocates
 * nothing. Each thread begins to look for a free one at one of its own.
 */
abstract class Permits {

  /** How a thread depends on the leadership while it does leader work. */
  enum Binding {
    /** Not at all, since most of the work is done elsewhere. */
    NONE,
    /** What the thread writes counts only in the term in which the work began. */
    TERM,
    /** As with {@link #TERM}, and the thread is interrupted when nothing protects the work. */
    INTERRUPTIBLE
  }

  /** Their number is a power of two, and never shrinks. A permit keeps its index. */
  private volatile Permit[] all = grown(new Permit[0], 8);

  /**
   * Takes a permit.
   *
   * @param work what is to run, for display
   * @param timed whether {@link Permit#nanos()} is needed
   * @return the permit, which counts from now on; {@link Permit#begin} must follow, or {@link
   *     Permit#free()}
   */
  Permit take(String work, boolean timed) {
    int first = (int) Thread.currentThread().getId();
    while (true) {
      Permit[] all = this.all;
      for (int i = 0; i < all.length; i++) {
        Permit permit = all[(first + i) & (all.length - 1)];
        if (permit.take(work, timed)) {
          return permit;
        }
      }
      grow(all);
    }
  }

  private synchronized void grow(Permit[] full) {
    if (this.all == full) {
      this.all = grown(full, 2 * full.length);
    }
  }

  private Permit[] grown(Permit[] permits, int length) {
    Permit[] grown = Arrays.copyOf(permits, length);
    for (int i = permits.length; i < length; i++) {
      grown[i] = new Permit();
    }
    return grown;
  }

  /** Called on the thread that got a permit, when it leaves the work. */
  abstract void left(Binding binding);

  /** Called when the work has ended; {@link Permit#free()} must follow. */
  abstract void ended(Permit permit);

  /** The number of permits that are taken. One that is taken all the while is counted. */
  int count() {
    int count = 0;
    for (Permit permit : this.all) {
      count += permit.isTaken() ? 1 : 0;
    }
    return count;
  }

  /** Whether this thread does work under one of the permits. */
  boolean hasThisThread() {
    for (Permit permit : this.all) {
      if (permit.thread == Thread.currentThread().getId()) {
        return true;
      }
    }
    return false;
  }

  /** Begins to measure the age of work whose beginning was not timed. */
  void see() {
    for (Permit permit : this.all) {
      permit.see();
    }
  }

  /** Lists the running work with its ages since it began or was first seen, the oldest first. */
  List<String> describe() {
    return Arrays.stream(this.all)
        .map(Permit::see)
        .filter(Objects::nonNull)
        .sorted(Comparator.comparingLong(Seen::since))
        .map(Seen::toString)
        .toList();
  }

  private record Seen(String work, long since) {

    @Override
    public String toString() {
      return "%s since %s s"
          .formatted(this.work, TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.since));
    }
  }

  /**
   * Lets leader work run. A leader that steps down hands its lease back only when all permits have
   * ended.
   *
   * <p>The thread that got a permit closes it when it leaves the work. The permit ends then, or when
   * the work has ended that {@linkplain #goesOn() goes on} elsewhere.
   */
  final class Permit implements AutoCloseable {

    private static final long FREE = 0;

    private static final long UNSEEN = 1;

    /**
     * {@link #FREE}, {@link #UNSEEN}, or when the work began or was first seen: a reading of the
     * clock costs as much as all else that a call needs.
     */
    private final AtomicLong since = new AtomicLong(FREE);

    /** What ran last. Read by other threads for display only. */
    private String work = "";

    /**
     * The thread that does the work; 0 if none does. Each thread looks only for itself, and finds
     * what it wrote last.
     */
    private long thread;

    private Binding binding = Binding.NONE;

    /** The term in which the work began; known to its thread if it depends on it. */
    private long term;

    /** The work of the thread under the fence. */
    private @Nullable Bound bound;

    private boolean succeeded;

    private @Nullable Continuation continuation;

    private boolean take(String work, boolean timed) {
      if (isTaken() || !this.since.compareAndSet(FREE, timed ? now() : UNSEEN)) {
        return false;
      }
      // To write a reference costs more than to compare it.
      if (!work.equals(this.work)) {
        this.work = work;
      }
      return true;
    }

    /** The term in which the work began. Called by the thread that began it. */
    long term() {
      return this.term;
    }

    void setTerm(long term) {
      this.term = term;
    }

    /** Binds the work that is about to begin. */
    void bind(Bound bound) {
      this.bound = bound;
    }

    /** Begins the work on this thread. */
    Permit begin(Binding binding) {
      this.thread = Thread.currentThread().getId();
      this.succeeded = false;
      if (this.binding != binding) {
        this.binding = binding;
      }
      if (this.continuation != null) {
        this.continuation = null;
      }
      return this;
    }

    /** Notes that the thread has done its part. Without this the work ends as failed. */
    void succeed() {
      this.succeeded = true;
    }

    /** Lets the work go on when this thread has done its part. */
    Continuation goesOn() {
      Continuation continuation = new Continuation(this);
      this.continuation = continuation;
      return continuation;
    }

    @Override
    public void close() {
      this.thread = 0;
      left(this.binding);
      Bound bound = this.bound;
      if (bound != null) {
        this.bound = null;
        bound.close();
      }
      Continuation continuation = this.continuation;
      if (continuation == null || continuation.isLast(this.succeeded ? 1 : 3)) {
        ended(this);
      }
    }

    /** Makes the permit free for other work. */
    void free() {
      this.since.set(FREE);
    }

    String work() {
      return this.work;
    }

    boolean hasSucceeded() {
      Continuation continuation = this.continuation;
      return this.succeeded && (continuation == null || !continuation.failed);
    }

    /** How long the work has run, in nanoseconds; negative if it was neither timed nor seen yet. */
    long nanos() {
      long since = this.since.get();
      return isKnown(since) ? Math.max(System.nanoTime() - since, 0) : -1;
    }

    private boolean isTaken() {
      return this.since.get() != FREE;
    }

    private @Nullable Seen see() {
      if (!isTaken()) {
        return null;
      }
      this.since.compareAndSet(UNSEEN, now());
      long since = this.since.get();
      return isKnown(since) ? new Seen(this.work, since) : null;
    }

    private static boolean isKnown(long since) {
      return since != FREE && since != UNSEEN;
    }

    /** Reads the clock, but no value that has a meaning of its own. */
    private static long now() {
      return System.nanoTime() | 2;
    }
  }

  /** Work that goes on without the thread that began it. */
  final class Continuation {

    private final Permit permit;

    /** 1 if the thread has left the work, plus 2 if the rest has ended. */
    private final AtomicInteger over = new AtomicInteger();

    private volatile boolean failed;

    private Continuation(Permit permit) {
      this.permit = permit;
    }

    /** Ends the work, on any thread. Does nothing if it has ended: the permit may be in use again. */
    void end(boolean failed) {
      if (failed) {
        this.failed = true;
      }
      if (isLast(2)) {
        ended(this.permit);
      }
    }

    private boolean isLast(int parts) {
      int before = this.over.getAndAccumulate(parts, (all, each) -> all | each);
      return before != 3 && (before | parts) == 3;
    }
  }
}
