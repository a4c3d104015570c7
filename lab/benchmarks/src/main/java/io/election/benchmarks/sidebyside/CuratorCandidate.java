package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's {@code LeaderLatch}. The lease is the session time-out. A third of it is the renew
 * interval.
 */
final class CuratorCandidate implements Candidate {

  private final CandidateSettings settings;

  private final CuratorFramework client;

  private final Map<String, LeaderLatch> latches = new ConcurrentHashMap<>();

  CuratorCandidate(CandidateSettings settings) {
    this.settings = settings;
    ExponentialBackoffRetry retry = new ExponentialBackoffRetry(1000, 3);
    int session = (int) settings.lease().toMillis();
    this.client = settings.defaults()
        ? CuratorFrameworkFactory.newClient(settings.place().address(), retry)
        : CuratorFrameworkFactory.newClient(
            settings.place().address(), session, session / 2, retry);
  }

  @Override
  public void join(List<String> elections) throws Exception {
    this.client.start();
    for (String election : elections) {
      LeaderLatch latch =
          new LeaderLatch(this.client, "/elections/" + election, this.settings.node());
      this.latches.put(election, latch);
      latch.start();
    }
  }

  @Override
  public boolean isLeader(String election) {
    LeaderLatch latch = this.latches.get(election);
    return latch != null && latch.hasLeadership();
  }

  @Override
  public void leave() {
    for (LeaderLatch latch : this.latches.values()) {
      try {
        latch.close();
      } catch (IOException ex) {
        System.out.println(ex);
      }
    }
    this.client.close();
  }
}
