package io.election.support.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LeadershipLogTest {

  private static final long MS = 1_000_000;

  @Test
  void samplesOfOneTermBecomeOneClaimAndAGapMakesTwo(@TempDir Path folder) {
    LeadershipLog log = LeadershipLog.open(folder.resolve("claims"));
    log.sample(1, 2, LeadershipLog.NOT_LEADING);
    log.sample(3, 4, 7);
    log.sample(5, 6, 7);
    log.sample(7, 8, 7);
    log.sample(9, 10, LeadershipLog.NOT_LEADING);
    log.sample(11, 12, 7);
    log.sample(13, 14, 8);
    assertThat(LeadershipLog.open(folder.resolve("claims")).claims("a"))
        .containsExactly(
            new Claim("a", 7, 4, 7), new Claim("a", 7, 12, 12), new Claim("a", 8, 14, 14));
  }

  @Test
  void claimsEndWithTheLastYesAndWhereNobodyAskedForTooLong(@TempDir Path folder) {
    LeadershipLog log = LeadershipLog.open(folder.resolve("claims"), Duration.ofMillis(100));
    log.sample(10 * MS, 11 * MS, Claim.NO_TERM);
    log.sample(12 * MS, 13 * MS, Claim.NO_TERM);
    log.sample(14 * MS, 15 * MS, LeadershipLog.NOT_LEADING);
    log.sample(20 * MS, 21 * MS, Claim.NO_TERM);
    // Paused.
    log.sample(9000 * MS, 9001 * MS, Claim.NO_TERM);
    log.sample(9002 * MS, 9003 * MS, Claim.NO_TERM);
    assertThat(log.claims("a"))
        .containsExactly(
            new Claim("a", Claim.NO_TERM, 11 * MS, 12 * MS),
            new Claim("a", Claim.NO_TERM, 21 * MS, 21 * MS),
            new Claim("a", Claim.NO_TERM, 9001 * MS, 9002 * MS));
    assertThat(log.claims("a", 22 * MS)).hasSize(1);
  }

  @Test
  void tracksAreKeptApart(@TempDir Path folder) {
    LeadershipLog log = LeadershipLog.open(folder.resolve("claims"));
    log.sample(0, 1, 2, 5);
    log.sample(7, 3, 4, 6);
    log.sample(0, 5, 6, 5);
    log.sample(7, 7, 8, LeadershipLog.NOT_LEADING);
    assertThat(log.isLeading()).isTrue();
    log.sample(0, 9, 10, LeadershipLog.NOT_LEADING);
    assertThat(log.isLeading()).isFalse();
    assertThat(log.claimsByTrack("a"))
        .hasSize(2)
        .containsEntry(0, List.of(new Claim("a", 5, 2, 5)))
        .containsEntry(7, List.of(new Claim("a", 6, 4, 4)));
  }

  @Test
  void claimsOverlapForAsLongAsBothHoldAfterTheInstantThatCounts() {
    Claim claim = new Claim("a", 1, 100, 200);
    assertThat(claim.overlap(new Claim("b", 2, 150, 300), 0)).isEqualTo(50);
    assertThat(claim.overlap(new Claim("b", 2, 150, 300), 180)).isEqualTo(20);
    assertThat(claim.overlap(new Claim("b", 2, 201, 300), 0)).isZero();
    assertThat(claim.overlap(new Claim("b", 2, 120, 130), 0)).isEqualTo(10);
    // The clock may be negative, and may overflow.
    assertThat(new Claim("a", 1, Long.MAX_VALUE - 10, Long.MIN_VALUE + 10)
            .overlap(new Claim("b", 2, Long.MIN_VALUE, Long.MIN_VALUE + 50), Long.MAX_VALUE - 100))
        .isEqualTo(10);
  }
}
