package io.election.autoconfigure;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaderWork;
import java.time.Duration;
import java.util.function.Consumer;

/** Leader work of an application that a stop can wait for. Used within the auto-configuration. */
public interface TrackedLeaderWork extends LeaderWork {

  /**
   * Sets the action to run when the last work of an election has ended while another thread waits
   * for it.
   *
   * @param onEnd the action, run on the thread whose work ends last
   */
  void onEnd(Runnable onEnd);

  /**
   * Waits until no work of any election is running.
   *
   * @param patience the maximum time to wait
   */
  void awaitEnd(Duration patience);

  /**
   * Notifies the work of an election without a lease before the listener, which may take long.
   * After a loss nothing protects such work, except in a stop, which waits for it.
   *
   * @param listener receives each event after the work has been notified
   * @return a listener that notifies both
   */
  default Consumer<LeadershipEvent> before(Consumer<LeadershipEvent> listener) {
    return (event) -> {
      onChange(event);
      if (event instanceof LeadershipLostEvent lost
          && lost.reason() != LeadershipLostEvent.Reason.STOPPED) {
        onLeaseOver(lost.serviceId(), lost.term());
      }
      listener.accept(event);
    };
  }
}
