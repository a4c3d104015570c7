package io.election.autoconfigure.leaderonly;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * The running calls of one election. A place serves one call after the other, so that a call
 * allocates nothing. Each thread begins to look for a free place at one of its own.
 */
final class RunningCalls {

  /** Their number is a power of two, and never shrinks. A place keeps its index. */
  private volatile Call[] places = grown(new Call[0], 8);

  /**
   * Begins a call.
   *
   * @param method the called method, for display
   * @param timed whether {@link Call#nanos()} is needed
   * @return the call, after which {@link Call#end()} must follow once
   */
  Call begin(String method, boolean timed) {
    int first = (int) Thread.currentThread().getId();
    while (true) {
      Call[] places = this.places;
      for (int i = 0; i < places.length; i++) {
        Call place = places[(first + i) & (places.length - 1)];
        if (place.begin(method, timed)) {
          return place;
        }
      }
      grow(places);
    }
  }

  private synchronized void grow(Call[] full) {
    if (this.places == full) {
      this.places = grown(full, 2 * full.length);
    }
  }

  private static Call[] grown(Call[] places, int length) {
    Call[] grown = Arrays.copyOf(places, length);
    for (int i = places.length; i < length; i++) {
      grown[i] = new Call();
    }
    return grown;
  }

  /** The number of calls. A call that runs all the while is counted. */
  int count() {
    int count = 0;
    for (Call place : this.places) {
      count += place.isRunning() ? 1 : 0;
    }
    return count;
  }

  /** Whether one of the calls runs on this thread. */
  boolean hasThisThread() {
    for (Call place : this.places) {
      if (place.isOnThisThread()) {
        return true;
      }
    }
    return false;
  }

  /** Begins to measure the age of calls whose beginning was not timed. */
  void see() {
    for (Call place : this.places) {
      place.see();
    }
  }

  /** Lists the calls with their ages since they began or were first seen, the oldest first. */
  List<String> describe() {
    return Arrays.stream(this.places)
        .flatMap(Call::see)
        .sorted(Comparator.comparingLong(Seen::since))
        .map(Seen::toString)
        .toList();
  }

  private record Seen(String method, long since) {

    @Override
    public String toString() {
      return "%s since %s s"
          .formatted(this.method, TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.since));
    }
  }

  /** A running call, or the place for one. */
  static final class Call {

    private static final long FREE = 0;

    private static final long UNSEEN = 1;

    /**
     * {@link #FREE}, {@link #UNSEEN}, or when the call began or was first seen: a reading of the
     * clock costs as much as all else that a call needs.
     */
    private final AtomicLong since = new AtomicLong(FREE);

    /** The method that was called last. Read by other threads for display only. */
    private String method = "";

    /**
     * The thread that runs the method; 0 if none does. Each thread looks only for itself, and finds
     * what it wrote last.
     */
    private long thread;

    private boolean begin(String method, boolean timed) {
      if (isRunning() || !this.since.compareAndSet(FREE, timed ? now() : UNSEEN)) {
        return false;
      }
      // To write a reference costs more than to compare it.
      if (!method.equals(this.method)) {
        this.method = method;
      }
      return true;
    }

    /** Marks the call as running on this thread, until {@link #detach()}. */
    void attach() {
      this.thread = Thread.currentThread().getId();
    }

    void detach() {
      this.thread = 0;
    }

    private boolean isOnThisThread() {
      return this.thread == Thread.currentThread().getId();
    }

    String method() {
      return this.method;
    }

    /** Ends the call. */
    void end() {
      this.since.set(FREE);
    }

    /** How long it has run, in nanoseconds; negative if it was neither timed nor seen yet. */
    long nanos() {
      long since = this.since.get();
      return isKnown(since) ? Math.max(System.nanoTime() - since, 0) : -1;
    }

    private boolean isRunning() {
      return this.since.get() != FREE;
    }

    private Stream<Seen> see() {
      if (!isRunning()) {
        return Stream.empty();
      }
      this.since.compareAndSet(UNSEEN, now());
      long since = this.since.get();
      return isKnown(since) ? Stream.of(new Seen(this.method, since)) : Stream.empty();
    }

    private static boolean isKnown(long since) {
      return since != FREE && since != UNSEEN;
    }

    /** Reads the clock, but no value that has a meaning of its own. */
    private static long now() {
      return System.nanoTime() | 2;
    }
  }
}
