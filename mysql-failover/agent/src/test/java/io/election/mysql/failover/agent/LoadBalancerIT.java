package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Writer.Written;
import io.election.support.Tool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client that connects to HAProxy, which asks the agents which server is the source. */
@Tag("failover")
class LoadBalancerIT {

  @Test
  void aClientWritesOnAcrossASwitchOverAndTheEndOfTheSource(@TempDir Path folder) throws Exception {
    Tool.HAPROXY.assumeWorks();
    try (FailoverSet set = new FailoverSet(folder, 1, "a", "b", "c")) {
      String source = set.settle();
      try (HaproxyProcess haproxy = new HaproxyProcess(set, folder);
          Writer client = Writer.through(haproxy.url(), Long.MAX_VALUE / 2, Duration.ofMillis(4))) {
        awaitWrites(client);
        int before = client.count();
        String target = source.equals("b") ? "c" : "b";
        set.switchOver(target);
        awaitWrites(client);
        measure("a planned switch-over", client, before);

        before = client.count();
        set.set.get(target).kill();
        awaitWrites(client);
        measure("kill -9 of the source", client, before);
        Server next = set.set.get(set.settle());
        List<Long> written = client.written().stream().map(Written::id).toList();
        assertThat(next.ids()).containsAll(written);
      }
    }
  }

  /** Waits for more writes than can have been in flight. */
  private static void awaitWrites(Writer client) {
    int before = client.count();
    await().atMost(Duration.ofSeconds(60)).until(() -> client.count() > before + 500);
  }

  private static void measure(String event, Writer client, int before) {
    List<Written> written = client.written();
    long gap = 0;
    for (int i = Math.max(before, 1); i < written.size(); i++) {
      gap = Math.max(gap, written.get(i).at() - written.get(i - 1).at());
    }
    System.out.printf("Measured: %.2f s without writes through HAProxy in %s%n", gap / 1e9, event);
  }
}
