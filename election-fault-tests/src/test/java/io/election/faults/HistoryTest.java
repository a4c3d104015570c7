package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The judge is judged first, with good histories and bad ones. */
class HistoryTest {

  @Test
  void claimsOneAfterTheOtherWithGrowingTermsAreFine() {
    assertThat(violations(
            new Claim("a", 1, 0, 10), new Claim("b", 2, 11, 20), new Claim("a", 3, 21, 30)))
        .isEmpty();
  }

  @Test
  void aClaimThatIsInterruptedWithinItsTermIsFine() {
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("a", 1, 15, 20))).isEmpty();
  }

  @Test
  void claimsAtOneInstantAreFound() {
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("b", 2, 10, 20))).hasSize(1);
    assertThat(violations(new Claim("a", 1, 0, 100), new Claim("b", 2, 40, 50))).hasSize(1);
    assertThat(violations(new Claim("b", 2, 40, 50), new Claim("a", 3, 0, 100))).isNotEmpty();
  }

  @Test
  void aTermThatIsUsedTwiceOrFallsIsFound() {
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("b", 1, 11, 20))).hasSize(1);
    assertThat(violations(new Claim("a", 2, 0, 10), new Claim("b", 1, 11, 20))).hasSize(1);
  }

  @Test
  void samplesOfOneTermBecomeOneClaimAndAGapMakesTwo(@TempDir Path folder) {
    ClaimFile file = ClaimFile.open(folder.resolve("claims"));
    file.sample(1, 2, -1);
    file.sample(3, 4, 7);
    file.sample(5, 6, 7);
    file.sample(7, 8, 7);
    file.sample(9, 10, -1);
    file.sample(11, 12, 7);
    file.sample(13, 14, 8);
    assertThat(ClaimFile.open(folder.resolve("claims")).claims("a"))
        .containsExactly(
            new Claim("a", 7, 4, 7), new Claim("a", 7, 12, 12), new Claim("a", 8, 14, 14));
  }

  private static List<String> violations(Claim... claims) {
    return new History(List.of(claims)).violations();
  }
}
