package io.election.store;

import io.election.Names;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * The settings of a node's leases. All nodes of an election should use the same settings; if they
 * differ, each node respects what the holder was promised.
 *
 * @param leaseDuration how long a leader may continue without a confirmed renewal; at most
 *     {@link #MAX_LEASE}, truncated to milliseconds
 * @param renewInterval how often a leader renews and a follower reads; from 1 ms to a third of the
 *     lease
 * @param operationTimeout the maximum duration of one call to the store, at least 1 ms;
 *     {@code renewInterval} + 2 × {@code operationTimeout} + {@link #margin()} must fit into the
 *     lease
 * @param drainTimeout how long a leader that steps down waits for running leader work; from zero to
 *     one day
 * @param eligible whether this node may lead
 * @param historyRetention how long the history keeps terms that have ended; from one hour to 36,500
 *     days
 * @param label what all nodes of one environment call themselves, for display; at most 128
 *     characters, empty for nothing
 */
public record LeaseSettings(
    Duration leaseDuration,
    Duration renewInterval,
    Duration operationTimeout,
    Duration drainTimeout,
    boolean eligible,
    Duration historyRetention,
    String label) {

  private static final Duration LEAST_RETENTION = Duration.ofHours(1);

  private static final Duration GREATEST_RETENTION = Duration.ofDays(36_500);

  /** The maximum lease. */
  public static final Duration MAX_LEASE = Duration.ofHours(1);

  /**
   * Checks the settings.
   *
   * @throws InvalidLeaseSettingException if a setting, or the relation between two settings, is out
   *     of range
   * @throws IllegalArgumentException if the label is no {@linkplain Names#problem usable name}
   */
  public LeaseSettings {
    if (!label.isEmpty()) {
      Names.requireUsable("label", label);
    }
    leaseDuration = leaseDuration.truncatedTo(ChronoUnit.MILLIS);
    positive("lease-duration", leaseDuration);
    within("renew-interval", renewInterval);
    within("operation-timeout", operationTimeout);
    if (drainTimeout.isNegative() || drainTimeout.compareTo(Duration.ofDays(1)) > 0) {
      throw new InvalidLeaseSettingException(
          "drain-timeout", drainTimeout, "it must be from 0 to one day; write for instance 10s");
    }
    if (historyRetention.compareTo(LEAST_RETENTION) < 0
        || historyRetention.compareTo(GREATEST_RETENTION) > 0) {
      throw new InvalidLeaseSettingException(
          "history-retention",
          historyRetention,
          "it must be from one hour to 36500 days; write for instance 30d");
    }
    if (leaseDuration.compareTo(MAX_LEASE) > 0) {
      throw new InvalidLeaseSettingException(
          "lease-duration", leaseDuration, "it must be at most one hour; write for instance 10s");
    }
    Duration leastLease = renewInterval.multipliedBy(3);
    if (leastLease.compareTo(leaseDuration) > 0) {
      throw new InvalidLeaseSettingException(
          "lease-duration",
          leaseDuration,
          "it must be at least three times the renew-interval (%s): use at least %s, or a renew-interval of at most %s"
              .formatted(text(renewInterval), text(leastLease), text(leaseDuration.dividedBy(3))));
    }
    Duration needed =
        renewInterval.plus(operationTimeout.multipliedBy(2)).plus(margin(leaseDuration));
    if (needed.compareTo(leaseDuration) > 0) {
      throw new InvalidLeaseSettingException(
          "lease-duration",
          leaseDuration,
          "a renewal must fit into it: renew-interval (%s) + 2 x operation-timeout (%s) + 2 %% of the lease are %s; use a longer lease-duration, or an operation-timeout of at most %s"
              .formatted(
                  text(renewInterval),
                  text(operationTimeout),
                  text(needed),
                  text(leaseDuration
                      .minus(renewInterval)
                      .minus(margin(leaseDuration))
                      .dividedBy(2))));
    }
  }

  /**
   * Creates settings with a history retention of 30 days and without a label.
   *
   * @param leaseDuration how long a leader may continue without a confirmed renewal
   * @param renewInterval how often a leader renews and a follower reads
   * @param operationTimeout the maximum duration of one call to the store
   * @param drainTimeout how long a leader that steps down waits for running leader work
   * @param eligible whether this node may lead
   * @throws InvalidLeaseSettingException if a setting, or the relation between two settings, is out
   *     of range
   */
  public LeaseSettings(
      Duration leaseDuration,
      Duration renewInterval,
      Duration operationTimeout,
      Duration drainTimeout,
      boolean eligible) {
    this(
        leaseDuration,
        renewInterval,
        operationTimeout,
        drainTimeout,
        eligible,
        Duration.ofDays(30),
        "");
  }

  /**
   * Returns how long before the end of the lease the leader's deadline is, so that monotonic clocks
   * may differ in rate by 1 % in each direction.
   *
   * @return 2 % of the lease, rounded up to nanoseconds
   */
  public Duration margin() {
    return margin(this.leaseDuration);
  }

  /**
   * Returns how long a confirmed renewal lets this node lead, counted from before it was sent.
   *
   * @return nanoseconds
   */
  public long leadershipNanos() {
    return this.leaseDuration.minus(margin()).toNanos();
  }

  private static Duration margin(Duration lease) {
    return Duration.ofNanos((lease.toNanos() + 49) / 50);
  }

  private static void positive(String setting, Duration value) {
    if (value.compareTo(Duration.ofMillis(1)) < 0) {
      throw new InvalidLeaseSettingException(
          setting, value, "it must be at least 1ms; write for instance 2s");
    }
  }

  /** Limits a value to the maximum lease, so that sums of settings cannot overflow. */
  private static void within(String setting, Duration value) {
    positive(setting, value);
    if (value.compareTo(MAX_LEASE) > 0) {
      throw new InvalidLeaseSettingException(
          setting, value, "it must be shorter than the lease-duration; write for instance 1s");
    }
  }

  private static String text(Duration duration) {
    long millis = duration.toMillis();
    return millis % 1000 == 0 ? millis / 1000 + "s" : millis + "ms";
  }
}
