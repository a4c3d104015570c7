package io.election.benchmarks.scale;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TenureTest {

  private final Tenure first = new Tenure(1, 7, 1, 100, 120, 200, 300);

  @Test
  void twoWhoWereHeardToLeadAtOnceOverlap() {
    assertThat(this.first.overlap(new Tenure(2, 7, 2, 150, 170, 250, 400))).isEqualTo(30);
    assertThat(this.first.overlap(new Tenure(2, 8, 2, 150, 170, 250, 400))).isZero();
    assertThat(this.first.overlap(new Tenure(1, 7, 2, 150, 170, 250, 400))).isZero();
  }

  @Test
  void whoMightLeadStillWhileAnotherBeginsIsFoundEvenIfNobodyAsked() {
    Tenure early = new Tenure(2, 7, 2, 290, 310, 350, 400);
    assertThat(this.first.overlap(early)).isZero();
    assertThat(this.first.possibleOverlap(early)).isEqualTo(10);
    assertThat(this.first.possibleOverlap(new Tenure(2, 7, 2, 300, 310, 350, 400)))
        .isZero();
  }

  @Test
  void aNoBeforeTheDeadlineEndsATenureWithItsLastYes() {
    assertThat(this.first.endedBefore(250).deadline()).isEqualTo(200);
    assertThat(this.first.endedBefore(350).deadline()).isEqualTo(300);
  }
}
