package io.election.lease;

import java.util.EnumSet;
import java.util.List;

/** How the simulation drives the production code. */
enum Drive {
  /** Calls the decisions one by one; requests and answers are separate. */
  CALL_BY_CALL(EnumSet.of(Fault.ROW_LOCKED)),
  /** Runs the elector's own loop body over a store that lets time pass. */
  ELECTOR(EnumSet.noneOf(Fault.class));

  private final List<Fault> faults;

  Drive(EnumSet<Fault> without) {
    this.faults = List.copyOf(EnumSet.complementOf(without));
  }

  /**
   * The faults that may happen. Only the elector learns that a lease could not be renewed for now.
   */
  List<Fault> faults() {
    return this.faults;
  }
}
