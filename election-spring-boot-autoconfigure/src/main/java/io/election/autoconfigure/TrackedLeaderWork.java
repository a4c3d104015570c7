package io.election.autoconfigure;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaderWork;
import java.time.Duration;
import java.util.function.Consumer;

/** The leader work of an application, which a stop can wait for. */
interface TrackedLeaderWork extends LeaderWork {

  /** Sets what to do when the last work of an election, which somebody waits for, has ended. */
  void onEnd(Runnable onEnd);

  /** Waits until no work runs, whatever the election. */
  void awaitEnd(Duration patience);

  /**
   * Lets the work hear of an election that has no lease before a listener does, which may take long:
   * nothing covers work after its loss but a stop, which waits for it.
   */
  default Consumer<LeadershipEvent> before(Consumer<LeadershipEvent> listener) {
    return (event) -> {
      if (event instanceof LeadershipLostEvent lost
          && lost.reason() != LeadershipLostEvent.Reason.STOPPED) {
        onUncovered(lost.serviceId(), lost.term());
      }
      listener.accept(event);
    };
  }
}
