package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Claim;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a leader and a follower ask of ZooKeeper, and by how much its log grows. A day has 43200
 * renewals at the default interval: {@code -Drenewals=43200}.
 */
class CostIT {

  private static final int INTERVALS = 20;

  private static final int RENEWALS = Integer.getInteger("renewals", INTERVALS);

  @Test
  @Tag("long")
  void oneRequestRenewsAllLeasesAndOneReadsThem() throws Exception {
    measure(50);
  }

  @ParameterizedTest(name = "{0} elections")
  @ValueSource(ints = {1, 500})
  @Tag("long")
  void oneElectionAndHundredsTakeAsManyRequests(int elections) throws Exception {
    measure(elections);
  }

  private static void measure(int elections) throws Exception {
    try (Zookeeper server = Zookeeper.start()) {
      ZookeeperLeaseStore leader = store(server);
      ZookeeperLeaseStore follower = store(server);
      Map<String, Long> terms = new HashMap<>();
      for (int i = 0; i < elections; i++) {
        String id = "service-" + i;
        LeaseRow created =
            leader.create(id, new Claim("a:8080:1", 10_000, 0, Reason.CREATED)).orElseThrow();
        Claim claim = new Claim("a:8080:1", 10_000, 0, Reason.CREATED);
        terms.put(id, leader.acquire(id, created, claim).orElseThrow());
      }
      assertThat(leader.renew("a:8080:1", terms).renewed()).hasSize(elections);
      assertThat(follower.read(terms.keySet())).hasSize(elections);

      long requests = server.requests();
      long bytes = logged(server);
      for (int i = 0; i < RENEWALS; i++) {
        assertThat(leader.renew("a:8080:1", terms).renewed()).hasSize(elections);
      }
      long renewals = server.requests() - requests;
      double growth = (logged(server) - bytes) / (double) RENEWALS;
      long size = size(server);
      requests = server.requests();
      bytes = logged(server);
      for (int i = 0; i < INTERVALS; i++) {
        assertThat(follower.read(terms.keySet())).hasSize(elections);
      }
      long reads = server.requests() - requests;
      assertThat(logged(server)).as("a read writes nothing").isEqualTo(bytes);
      Announcement self = new Announcement(
          "b:8080:2",
          terms.keySet(),
          Set.of(),
          true,
          Duration.ofSeconds(10),
          "1.0",
          "zookeeper",
          Map.of(),
          "");
      follower.announce(self);
      requests = server.requests();
      bytes = logged(server);
      for (int i = 0; i < INTERVALS; i++) {
        follower.announce(self);
      }
      long announcements = server.requests() - requests;
      double announced = (logged(server) - bytes) / (double) INTERVALS;

      System.out.printf(
          Locale.ROOT,
          "Measured: %d elections, %d renewals: %d requests of the leader, %d of a follower; the log grows by %.0f bytes a renewal, %.1f MB a day at 2 s; the data folder is %.1f MB%n",
          elections,
          RENEWALS,
          renewals,
          reads,
          growth,
          growth * Duration.ofDays(1).toSeconds() / 2 / 1e6,
          size / 1e6);
      System.out.printf(
          Locale.ROOT,
          "Measured: %d elections, %d announcements: %d requests; the log grows by %.0f bytes each, %.2f MB a day at 20 s%n",
          elections,
          INTERVALS,
          announcements,
          announced,
          announced * Duration.ofDays(1).toSeconds() / 20 / 1e6);
      // The question for their number is one too, and so are pings of a follower that waits.
      // A renewal is a write, and a read that shows what it was about.
      assertThat(renewals).isBetween(2L * RENEWALS, 2 * RENEWALS + 3L + RENEWALS / 1000);
      assertThat(reads).isBetween((long) INTERVALS, INTERVALS + 3L);
      assertThat(announcements).isBetween((long) INTERVALS, INTERVALS + 3L);
      assertThat(announced).as("bytes of an announcement").isLessThan(400);
      leader.close();
      follower.close();
    }
  }

  private static ZookeeperLeaseStore store(Zookeeper server) {
    return ZookeeperLeaseStore.builder(server.connectString())
        .root("/soa/master/services")
        .operationTimeout(Duration.ofSeconds(10))
        .build();
  }

  /** The bytes of all files: logs, which are filled with zeros in advance, and snapshots. */
  private static long size(Zookeeper server) throws Exception {
    try (Stream<Path> files = Files.walk(server.folder().resolve("data"))) {
      return files
          .map(Path::toFile)
          .filter(File::isFile)
          .mapToLong(File::length)
          .sum();
    }
  }

  /** The bytes in the log, whose files are filled with zeros in advance. */
  private static long logged(Zookeeper server) throws Exception {
    long bytes = 0;
    try (Stream<Path> files = Files.walk(server.folder())) {
      for (Path file : files
          .filter((path) -> path.getFileName().toString().startsWith("log."))
          .toList()) {
        byte[] content = Files.readAllBytes(file);
        int end = content.length;
        while (end > 0 && content[end - 1] == 0) {
          end--;
        }
        bytes += end;
      }
    }
    return bytes;
  }
}
