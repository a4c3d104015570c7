package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.Claim;
import org.junit.jupiter.api.Test;

class StoryTest {

  private static final long SECOND = 1_000_000_000;

  private static final Claim BEFORE = new Claim("node-2", 6, SECOND, 10 * SECOND);

  @Test
  void tellsWhoFollowsAPausedLeader() {
    Story.Incident pause = new Story.Incident("node-2", "was paused", 10 * SECOND, 15 * SECOND);
    Claim next = new Claim("node-3", 7, 15 * SECOND + SECOND / 10, 20 * SECOND);
    assertThat(Story.happened(pause))
        .isEqualTo("node-2 was paused. Its lease ends in 5.0 s; no other node leads before that, "
            + "unless it hands the lease back");
    assertThat(Story.began(next, BEFORE, pause))
        .isEqualTo("node-2 was paused; its lease ended after 5.0 s; node-3 led 0.1 s later in "
            + "term 7; no node had led for 5.1 s; overlap 0 ms");
    assertThat(Story.woke(pause, 18 * SECOND, false))
        .isEqualTo("node-2 was paused for 8.0 s; when it woke it said no at its first question: "
            + "its lease had ended 3.0 s before");
    assertThat(Story.woke(pause, 12 * SECOND, true))
        .endsWith("it said yes at its first question: its lease had 3.0 s left");
  }

  @Test
  void tellsOfAHandOverAndOfAnOverlap() {
    Claim next = new Claim("node-3", 7, 10 * SECOND + SECOND / 50, 20 * SECOND);
    Story.Incident stop = new Story.Incident("node-2", "was stopped", 10 * SECOND, 14 * SECOND);
    assertThat(Story.began(next, BEFORE, stop))
        .isEqualTo("node-2 was stopped; node-3 led 0.020 s after that in term 7; no node had led "
            + "for 0.020 s; overlap 0 ms");
    assertThat(Story.began(new Claim("node-3", 7, 9 * SECOND, 20 * SECOND), BEFORE, null))
        .endsWith("overlap 1000 ms");
    assertThat(Story.began(next, null, null)).startsWith("node-3 leads in term 7");
  }

  @Test
  void tellsThatAFollowerChangesNothing() {
    assertThat(Story.happened(new Story.Incident("node-1", "was killed", 0, 0)))
        .isEqualTo("node-1 was killed. It did not lead, so nothing else changes");
  }
}
