package io.election.benchmarks.candidates;

/**
 * A stretch of time in which a process surely claimed to lead: from after its first "yes" to before
 * its last one. Ends as well where the process was not asked for a while.
 *
 * @param node the process
 * @param from {@link System#nanoTime()} after the first "yes"
 * @param to {@link System#nanoTime()} before the last "yes" was asked for
 */
public record Claim(String node, long from, long to) {

  /**
   * How long this claim and another hold at once.
   *
   * @param other of another process
   * @param since what was before does not count
   * @return nanoseconds, at least 0
   */
  public long overlap(Claim other, long since) {
    long begin = Math.max(Math.max(this.from - since, other.from - since), 0);
    long end = Math.min(this.to - since, other.to - since);
    return Math.max(0, end - begin);
  }
}
