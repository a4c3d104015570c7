package io.election.lease;

import java.util.EnumSet;
import java.util.List;

/** How the production code is driven. */
enum Drive {
  /** Requests and answers apart, the decisions called one by one. */
  CALL_BY_CALL(EnumSet.of(Fault.ROW_LOCKED)),
  /** The elector's own loop body over a store that lets time pass. */
  ELECTOR(EnumSet.noneOf(Fault.class));

  private final List<Fault> faults;

  Drive(EnumSet<Fault> without) {
    this.faults = List.copyOf(EnumSet.complementOf(without));
  }

  /** What may happen: only the elector is told that a lease could not be renewed for now. */
  List<Fault> faults() {
    return this.faults;
  }
}
