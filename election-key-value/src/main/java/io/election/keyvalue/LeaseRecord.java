package io.election.keyvalue;

import io.election.Names;
import org.jspecify.annotations.Nullable;

/**
 * The record of an election: the value of its key.
 *
 * @param election the election that a store wrote it for; {@code null} if written by hand
 * @param leader the holder or the designated holder; empty if vacant
 * @param term the term of the last leadership; {@code null} if written by hand
 * @param leaseMillis the lease of the holder; 0 if released; {@code null} if written by hand
 * @param heartbeat the token of the process that led last, which renews by its heartbeat; empty if
 *     no process does; {@code null} if written by hand: then that of the newest term counts
 * @param history if released, the history in which the lease was taken; otherwise {@code null}
 */
record LeaseRecord(
    @Nullable String election,
    String leader,
    @Nullable Long term,
    @Nullable Long leaseMillis,
    @Nullable String heartbeat,
    @Nullable String history) {

  static final String NO_HEARTBEAT = "";

  static {
    // The first use of a type takes some 20 ms, which a take-over should not have to wait for.
    Term.of(Json.write(Term.MARK));
    of(Json.write(new LeaseRecord("", "", 0L, 0L, NO_HEARTBEAT)), "");
  }

  LeaseRecord {
    leader = leader != null ? leader : "";
  }

  /** A record that was not handed back. */
  LeaseRecord(
      @Nullable String election,
      String leader,
      @Nullable Long term,
      @Nullable Long leaseMillis,
      @Nullable String heartbeat) {
    this(election, leader, term, leaseMillis, heartbeat, null);
  }

  static LeaseRecord released(
      String serviceId, String leader, long term, @Nullable String history) {
    return new LeaseRecord(serviceId, leader, term, 0L, NO_HEARTBEAT, history);
  }

  /**
   * Reads the record of an election. What is not JSON of ours designates a node: operators write its
   * name alone. So does a copy of another election's record: its holder does not renew this one.
   */
  static LeaseRecord of(String value, String serviceId) {
    LeaseRecord record = Json.read(value, LeaseRecord.class);
    if (record == null) {
      return byHand(Names.printable(value.strip()));
    }
    return record.election() == null || record.election().equals(serviceId)
        ? record
        : byHand(record.leader());
  }

  private static LeaseRecord byHand(String leader) {
    return new LeaseRecord(null, leader, null, null, null);
  }

  LeaseRecord designating(String serviceId, String leaderId) {
    return new LeaseRecord(
        serviceId, leaderId, this.term, this.leaseMillis, this.heartbeat, this.history);
  }

  boolean released() {
    return this.leaseMillis != null && this.leaseMillis == 0;
  }
}
