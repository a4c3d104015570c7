package io.election.keyvalue;

import io.election.Names;
import org.jspecify.annotations.Nullable;

/**
 * The record of an election: the value of its key.
 *
 * @param leader the holder or the designated holder; empty if vacant
 * @param term the term of the last leadership; {@code null} if written by hand
 * @param leaseMillis the lease of the holder; 0 if released; {@code null} if written by hand
 * @param heartbeat the token of the process that led last, which renews by its heartbeat; empty if
 *     no process does; {@code null} if written by hand: then that of the newest term counts
 */
record LeaseRecord(
    String leader,
    @Nullable Long term,
    @Nullable Long leaseMillis,
    @Nullable String heartbeat) {

  static final String NO_HEARTBEAT = "";

  LeaseRecord {
    leader = leader != null ? leader : "";
  }

  /** Reads a value. What is not JSON of ours designates a node: operators write its name alone. */
  static LeaseRecord of(String value) {
    LeaseRecord record = Json.read(value, LeaseRecord.class);
    return record != null
        ? record
        : new LeaseRecord(Names.printable(value.strip()), null, null, null);
  }

  boolean released() {
    return this.leaseMillis != null && this.leaseMillis == 0;
  }
}
