package io.election.autoconfigure.leaderonly.elsewhere;

import io.election.LeaderOnly;
import org.springframework.scheduling.annotation.Scheduled;

/** Has methods that classes in other packages do not inherit. */
public class Neighbour {

  @LeaderOnly
  String text() {
    return "ran";
  }

  /** Has such a method without {@code @LeaderOnly}. */
  public static class Ticking {

    @Scheduled(fixedDelay = 1000)
    void tick() {}
  }
}
