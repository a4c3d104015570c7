package io.election.joint;

import io.election.ElectionService;
import io.election.LeadershipEvent;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One part of a list, in one election. Thread-safe; no method blocks. */
interface Part {

  String name();

  /** Returns what is known about the part, without the reason why a node waits for it. Cheap. */
  PartView glance();

  /** Returns everything that is known about the part. */
  PartView view();

  /** Asks the part to let this node lead, if it does not stand by itself. */
  default void stand() {}

  /**
   * Hands the part back once no leader work runs and no later part is held.
   *
   * @param aside for how long this node then stands aside; zero if it does not
   */
  void handBack(Duration aside);

  /** Makes the part see at once that something has changed. */
  void wakeUp();

  ElectionService service();

  /** Returns the last change of this node's leadership in the part; {@code null} if unknown. */
  default @Nullable LeadershipEvent lastEvent() {
    return null;
  }
}
