package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Page;
import io.election.support.process.Claim;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Draws the pictures of the documentation, from real runs. */
@EnabledIfSystemProperty(
    named = "playground.pictures",
    matches = ".+",
    disabledReason = "-Dplayground.pictures=FOLDER says where to write them")
class PicturesIT {

  /** What a visitor sees of a kill, and of a pause that is longer than the lease. */
  @Test
  void drawTwoRuns() throws IOException {
    Path folder = Path.of(System.getProperty("playground.pictures"));
    try (ConsolePage console = ConsolePage.open("--server.port=0")) {
      console.page().setViewportSize(1200, 860);
      String killed = ledFor(console, 14);
      console.press(killed, "kill");
      console.awaitLeaderOtherThan(killed);
      ledFor(console, 14);
      Files.writeString(folder.resolve("playground.svg"), console.savedPicture());
      console.press(killed, "start");
      String paused = ledFor(console, 12);
      console.fill(paused, "seconds of Pause", "8");
      console.press(paused, "pause");
      console.awaitLeaderOtherThan(paused);
      console.awaitLine("when it woke it said no at its first question");
      ledFor(console, 8);
      Files.writeString(folder.resolve("playground-pause.svg"), console.savedPicture());
      console
          .page()
          .screenshot(new Page.ScreenshotOptions().setPath(folder.resolve("playground.png")));
      assertThat(console.page().locator("#overlaps").textContent()).contains(": 0 times");
    }
  }

  /** Waits until a node has led for some seconds. */
  private static String ledFor(ConsolePage console, int seconds) {
    String leader = console.awaitLeader();
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
      List<Claim> claims = console.claims();
      Claim last = claims.get(claims.size() - 1);
      return last.to() - last.from() > Duration.ofSeconds(seconds).toNanos();
    });
    return leader;
  }
}
