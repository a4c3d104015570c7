package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.election.ElectionService;
import io.election.etcd.EtcdFence;
import io.election.etcd.EtcdLeaseStore;
import io.election.etcd.EtcdProcess;
import io.election.store.LeaseStoreException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("faults")
@Tag("failover")
class RegistryIT {

  /** The data of its server are being replaced, so that it no longer has what it had received. */
  @Test
  void aLateRequestDoesNotBringBackAPositionThatWasWithdrawn() throws Exception {
    try (EtcdProcess etcd = EtcdProcess.start();
        EtcdFence fence = EtcdLeaseStore.builder(List.of(etcd.url())).buildFence()) {
      ElectionService election = mock();
      when(election.serviceId()).thenReturn("set");
      Position position = CandidacyTest.position("b", "a:1");
      Registry late = new Registry(fence, election);
      late.publish(position);
      Registry registry = new Registry(fence, election);
      registry.read();

      registry.withdraw("b");

      assertThatThrownBy(() -> late.publish(position)).isInstanceOf(LeaseStoreException.class);
      assertThat(registry.read().positions()).isEmpty();
      registry.publish(position);
      assertThat(registry.read().positions()).containsEntry("b", position);
    }
  }
}
