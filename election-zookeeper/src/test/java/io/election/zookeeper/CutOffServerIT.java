package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.Claim;
import io.election.support.process.LocalSampler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The leader's server is cut off from the others. It still answers the leader's pings and reads
 * for a while, which must not keep the leader in office.
 */
@Tag("faults")
class CutOffServerIT {

  private static final String ROOT = "/soa/master/services";
  private static final String SERVICE = "billing";

  @Test
  @Tag("long")
  void theLeaderStopsAtItsDeadlineAndAnotherLeads() throws Exception {
    cutOff(false);
  }

  @Test
  void theLeaderOnTheLeadingServerStopsAtItsDeadlineAndAnotherLeads() throws Exception {
    cutOff(true);
  }

  private void cutOff(boolean leads) throws Exception {
    try (LocalSampler sampler = new LocalSampler();
        Ensemble ensemble = new Ensemble(leads);
        Node a = new Node("a", ensemble.member().connectString(), ROOT, SERVICE)) {
      assertThat(ensemble.member().command("srvr"))
          .contains(leads ? "Mode: leader" : "Mode: follower");
      sampler.add("a", a.election());
      await("a leads", a::leads);
      ZooKeeper beside = ensemble.member().connect();
      try (Node b = new Node("b", ensemble.others(), ROOT, SERVICE)) {
        sampler.add("b", b.election());
        await("b follows", () -> b.election().leaderId().isPresent());

        ensemble.cutOff();
        long cut = System.nanoTime();
        assertThat(beside.exists(ROOT + "/" + SERVICE, false))
            .as("read from there")
            .isNotNull();
        await("a follows", () -> !a.leads());
        await("b leads", b::leads);
        List<Claim> led = sampler.claims("a");
        assertThat(Duration.ofNanos(led.get(led.size() - 1).to() - cut))
            .isLessThan(Node.SETTINGS.leaseDuration());
        ensemble.heal();
        await("a sees b", () -> a.election().leaderId().filter("b"::equals).isPresent());

        assertThat(sampler.judge().violations()).isEmpty();
        assertThat(sampler.judge().claims()).hasSizeGreaterThanOrEqualTo(2);
      } finally {
        beside.close();
      }
    }
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(Duration.ofMinutes(2)).until(condition);
  }
}
