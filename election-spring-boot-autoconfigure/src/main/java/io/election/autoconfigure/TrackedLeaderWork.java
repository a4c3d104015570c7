package io.election.autoconfigure;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaderWork;
import java.time.Duration;
import java.util.function.Consumer;

/** The leader work of an application, which a stop can wait for; for the parts of the auto-configuration. */
public interface TrackedLeaderWork extends LeaderWork {

  /**
   * Sets what to do when the last work of an election, which somebody waits for, has ended.
   *
   * @param onEnd is run by the thread whose work ends last
   */
  void onEnd(Runnable onEnd);

  /**
   * Waits until no work runs, whatever the election.
   *
   * @param patience how long to wait at most
   */
  void awaitEnd(Duration patience);

  /**
   * Lets the work hear of an election that has no lease before a listener does, which may take long:
   * nothing covers work after its loss but a stop, which waits for it.
   *
   * @param listener is given each event after the work has heard of it
   * @return a listener of both
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
