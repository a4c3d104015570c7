package io.election.lease;

import java.util.List;
import java.util.stream.Stream;

/** How the simulation drives the production code. */
enum Drive {
  /** Calls the decisions one by one; requests and answers are separate. */
  CALL_BY_CALL,
  /** Runs the elector's own loop body over a store that lets time pass. */
  ELECTOR;

  /**
   * The faults that may happen. Only the elector learns that a lease could not be renewed for now.
   */
  List<Fault> faults() {
    return Stream.of(Fault.values())
        .filter((fault) -> this == ELECTOR || fault != Fault.ROW_LOCKED)
        .toList();
  }
}
