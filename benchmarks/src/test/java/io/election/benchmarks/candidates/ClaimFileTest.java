package io.election.benchmarks.candidates;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClaimFileTest {

  private static final long MS = 1_000_000;

  @Test
  void claimsEndWithTheLastYesAndWhereNobodyAsked(@TempDir Path folder) {
    ClaimFile file = ClaimFile.open(folder.resolve("claims"));
    file.sample(10 * MS, 11 * MS, true);
    file.sample(12 * MS, 13 * MS, true);
    file.sample(14 * MS, 15 * MS, false);
    file.sample(20 * MS, 21 * MS, true);
    // Paused.
    file.sample(9000 * MS, 9001 * MS, true);
    file.sample(9002 * MS, 9003 * MS, true);
    assertThat(ClaimFile.open(folder.resolve("claims")).claims("a", 0))
        .containsExactly(
            new Claim("a", 11 * MS, 12 * MS),
            new Claim("a", 21 * MS, 21 * MS),
            new Claim("a", 9001 * MS, 9002 * MS));
    assertThat(file.claims("a", 22 * MS)).hasSize(1);
  }

  @Test
  void claimsOverlapForAsLongAsBothHoldAfterTheInstantThatCounts() {
    Claim claim = new Claim("a", 100, 200);
    assertThat(claim.overlap(new Claim("b", 150, 300), 0)).isEqualTo(50);
    assertThat(claim.overlap(new Claim("b", 150, 300), 180)).isEqualTo(20);
    assertThat(claim.overlap(new Claim("b", 201, 300), 0)).isZero();
    assertThat(claim.overlap(new Claim("b", 120, 130), 0)).isEqualTo(10);
    // The clock may be negative, and may turn over.
    assertThat(new Claim("a", Long.MAX_VALUE - 10, Long.MIN_VALUE + 10)
            .overlap(new Claim("b", Long.MIN_VALUE, Long.MIN_VALUE + 50), Long.MAX_VALUE - 100))
        .isEqualTo(10);
  }
}
