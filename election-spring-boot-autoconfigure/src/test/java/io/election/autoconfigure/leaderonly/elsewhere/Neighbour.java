package io.election.autoconfigure.leaderonly.elsewhere;

import io.election.LeaderOnly;
import org.springframework.scheduling.annotation.Scheduled;

/** Has methods that classes of other packages do not inherit. */
public class Neighbour {

  @LeaderOnly
  String text() {
    return "ran";
  }

  /** The same without an annotation of its own. */
  public static class Ticking {

    @Scheduled(fixedDelay = 1000)
    void tick() {}
  }
}
