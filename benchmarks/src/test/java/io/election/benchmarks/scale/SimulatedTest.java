package io.election.benchmarks.scale;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.LeaseSettings;
import java.time.Duration;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

class SimulatedTest {

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(10),
      Duration.ofSeconds(2),
      Duration.ofSeconds(1),
      Duration.ofSeconds(1),
      true);

  private static final ServiceTimes TIMES =
      ServiceTimes.parse("read=300 readRow=4 renew=800 renewRow=20 take=3000 refusedTake=400"
          + " connect=3000 commit=2000 share=0.7");

  @Test
  void aFleetThatTheServerCarriesLosesNothingAndIsSucceededAfterALease() {
    Simulated simulated = Simulated.run(40, 10, 2, TIMES, SETTINGS, 0.5);
    assertThat(simulated.holdsInStorm()).isTrue();
    // A renewal or a look of each node every two seconds.
    assertThat(simulated.idlePerSecond()).isBetween(20.0, 45.0);
    assertThat(DoubleStream.of(simulated.gaps()).boxed())
        .hasSize(5)
        .allSatisfy((gap) -> assertThat(gap).isBetween(8000.0, 13_000.0));
  }

  @Test
  void aFleetThatAsksForMoreThanTheServerHasLosesItsLeases() {
    ServiceTimes slow =
        ServiceTimes.parse("read=300000 readRow=4 renew=800 renewRow=20 take=3000 refusedTake=400"
            + " connect=3000 commit=2000 share=0.7");
    assertThat(Simulated.run(40, 10, 2, slow, SETTINGS, 0.5).holds()).isFalse();
  }
}
