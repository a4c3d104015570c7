package io.election.benchmarks.sidebyside;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.support.Observers;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * An etcd election by jetcd: a lease that jetcd keeps alive, and a campaign. The process leads from
 * the end of its campaign until the keep-alive reports that the lease is gone. Then it starts
 * again.
 */
final class JetcdCandidate implements Candidate {

  private final CandidateSettings settings;

  private final Client client;

  private final Map<String, Long> leading = new ConcurrentHashMap<>();

  private volatile long lease;

  private volatile boolean left;

  JetcdCandidate(CandidateSettings settings) {
    this.settings = settings;
    this.client =
        Client.builder().endpoints("http://" + settings.place().address()).build();
  }

  @Override
  public void join(List<String> elections) {
    Thread loop = new Thread(() -> campaignForEver(elections), "campaign");
    loop.setDaemon(true);
    loop.start();
  }

  private void campaignForEver(List<String> elections) {
    while (!this.left) {
      try {
        campaign(elections);
      } catch (ExecutionException ex) {
        System.out.println(ex);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
      } catch (InterruptedException ex) {
        return;
      }
    }
  }

  private void campaign(List<String> elections) throws ExecutionException, InterruptedException {
    long lease = this.client
        .getLeaseClient()
        .grant(this.settings.lease().toSeconds())
        .get()
        .getID();
    CountDownLatch lost = new CountDownLatch(1);
    this.lease = lease;
    // The lease is gone when the keep-alive ends, for whatever reason.
    StreamObserver<LeaseKeepAliveResponse> observer = Observers.<LeaseKeepAliveResponse>builder()
        .onError((failure) -> {
          System.out.println(failure);
          lost.countDown();
        })
        .onCompleted(lost::countDown)
        .build();
    try (var keepAlive = this.client.getLeaseClient().keepAlive(lease, observer)) {
      for (String election : elections) {
        this.client
            .getElectionClient()
            .campaign(bytes(election), lease, bytes(this.settings.node()))
            .whenComplete((won, failure) -> {
              if (failure != null) {
                System.out.println(failure);
                lost.countDown();
              } else if (lost.getCount() > 0) {
                this.leading.put(election, lease);
              }
            });
      }
      lost.await();
    } finally {
      this.lease = 0;
      this.leading.clear();
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  @Override
  public boolean isLeader(String election) {
    Long lease = this.leading.get(election);
    return lease != null && lease == this.lease;
  }

  @Override
  public void leave() {
    this.left = true;
    long lease = this.lease;
    this.leading.clear();
    if (lease != 0) {
      try {
        this.client.getLeaseClient().revoke(lease).get(2, TimeUnit.SECONDS);
      } catch (ExecutionException | TimeoutException ex) {
        System.out.println(ex);
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
