package io.election.benchmarks.sidebyside;

import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;

/** The requests of a process of this election that its proxy distinguishes by their text. */
final class Traffic {

  private final AtomicLong ofCandidates = new AtomicLong();

  private final AtomicLong renewedAt = new AtomicLong();

  void sent(String request) {
    if (isOfCandidates(request)) {
      this.ofCandidates.incrementAndGet();
    } else if (isRenewal(request)) {
      this.renewedAt.set(System.nanoTime());
    }
  }

  /** Returns whether a node wrote that it is still a candidate, or read which others are. */
  static boolean isOfCandidates(String request) {
    return request.contains("leader_election_member") || request.contains("~seen");
  }

  /** Returns whether a request renews a lease, if it is a leader's. */
  private static boolean isRenewal(String request) {
    return request.contains("UPDATE leader_election\n")
        || request.contains("UPDATE leader_election SET ")
        || request.contains("~heartbeats/");
  }

  /** Returns how often the process has written that it is a candidate, or read which others are. */
  long ofCandidates() {
    return this.ofCandidates.get();
  }

  /** Returns when the process, a leader, renewed last; empty if it has not. */
  OptionalLong renewedAt() {
    long at = this.renewedAt.get();
    return at != 0 ? OptionalLong.of(at) : OptionalLong.empty();
  }
}
