package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.election.ElectionSetupException;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.LeadershipLostException;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EtcdFenceIT {

  /** The leader stands still between the beginning of its work and its write. */
  @Test
  void aDeposedLeaderCannotWrite() throws Exception {
    EtcdProcess etcd = EtcdProcess.shared();
    EtcdLeaseStore.Builder builder = EtcdLeaseStore.builder(List.of(etcd.url()))
        .prefix("/" + UUID.randomUUID() + "/")
        .operationTimeout(Duration.ofSeconds(10));
    ManagedChannel application = Grpc.newChannelBuilder(
            etcd.url().replace("http://", ""), InsecureChannelCredentials.create())
        .build();
    try (LeaseStore a = builder.build();
        LeaseStore b = builder.build();
        EtcdFence fence = builder.buildFence()) {
      LeaseRow created = a.create("billing", claim("a", Reason.CREATED)).orElseThrow();
      long term = a.acquire("billing", created, claim("a", Reason.CREATED)).orElseThrow();
      Compare begun = fence.compare("billing", "a", term);
      assertThat(a.renew("a", Map.of("billing", term)).renewed()).hasSize(1);
      assertThat(write(application, begun)).isTrue();

      LeaseRow seen = b.read(Set.of("billing")).get("billing").row();
      long next = b.acquire("billing", seen, claim("b", Reason.EXPIRED)).orElseThrow();

      assertThat(write(application, begun)).isFalse();
      assertThatThrownBy(() -> fence.compare("billing", "a", term))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(write(application, fence.compare("billing", "b", next))).isTrue();
    } finally {
      application.shutdownNow();
    }
  }

  private static boolean write(ManagedChannel application, Compare fence) {
    PutRequest.Builder put =
        PutRequest.newBuilder().setKey(ByteString.copyFromUtf8("work")).setValue(fence.getKey());
    return KVGrpc.newBlockingStub(application)
        .txn(TxnRequest.newBuilder()
            .addCompare(fence)
            .addSuccess(RequestOp.newBuilder().setRequestPut(put))
            .build())
        .getSucceeded();
  }

  private static Claim claim(String nodeId, Reason reason) {
    return new Claim(nodeId, 10_000, 0, reason);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost:2379",
        "ftp://localhost",
        "http://",
        "http://user:secret@localhost:2379",
        "http://localhost:2379/path",
        "http://localhost:99999",
        "http://localhost:0",
        "not a URL"
      })
  void anEndpointThatCannotBeUsedIsNamedWithTheRemedy(String endpoint) {
    assertThatThrownBy(() -> EtcdLeaseStore.builder(List.of(endpoint)))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("http://host:2379")
        .hasMessageNotContaining("secret");
  }

  @Test
  void mixedOrMissingEndpointsAndAnOpenPrefixAreRefused() {
    assertThatThrownBy(() -> EtcdLeaseStore.builder(List.of()))
        .isInstanceOf(ElectionSetupException.class);
    assertThatThrownBy(() -> EtcdLeaseStore.builder(List.of("http://a:2379", "https://b:2379")))
        .hasMessageContaining("mix http and https");
    assertThatThrownBy(() -> EtcdLeaseStore.builder(List.of("http://a:2379")).prefix("/election"))
        .hasMessageContaining("/election/");
  }
}
