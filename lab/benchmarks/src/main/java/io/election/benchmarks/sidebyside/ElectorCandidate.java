package io.election.benchmarks.sidebyside;

import io.election.Leadership;
import io.election.etcd.EtcdLeaseStore;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.support.process.Claim;
import io.election.zookeeper.ZookeeperLeaseStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Our elector without Spring Boot. A process holds hundreds of them. */
final class ElectorCandidate implements Candidate {

  private final Map<String, LeaseElectionService> elections = new HashMap<>();

  private final Elector elector;

  ElectorCandidate(CandidateSettings settings, boolean signals) {
    Duration timeout = Duration.ofSeconds(1);
    this.elector = new Elector(
        store(settings, timeout, signals),
        new LeaseSettings(settings.lease(), settings.renew(), timeout, Duration.ofSeconds(1), true),
        settings::node,
        (serviceId) -> false,
        (event) -> {},
        System::nanoTime,
        InstantSource.system());
  }

  private static LeaseStore store(CandidateSettings settings, Duration timeout, boolean signals) {
    String address = settings.place().address();
    return switch (settings.kind().backend) {
      case MYSQL, POSTGRESQL, PGBOUNCER ->
        new JdbcLeaseStore(
            new ElectionDatabase(settings.place().dataSource(), address),
            JdbcLeaseStore.SchemaMode.NONE,
            timeout,
            settings.renew(),
            signals);
      case ZOOKEEPER ->
        ZookeeperLeaseStore.builder(address).operationTimeout(timeout).build();
      case ETCD ->
        EtcdLeaseStore.builder(List.of("http://" + address))
            .operationTimeout(timeout)
            .build();
    };
  }

  @Override
  public void join(List<String> elections) {
    elections.forEach((id) -> this.elections.put(id, new LeaseElectionService(id, this.elector)));
    this.elector.start(List.copyOf(this.elections.values()));
  }

  @Override
  public boolean isLeader(String election) {
    LeaseElectionService service = this.elections.get(election);
    return service != null && service.isLeader();
  }

  @Override
  public long term(String election) {
    return Optional.ofNullable(this.elections.get(election))
        .flatMap(LeaseElectionService::leadership)
        .map(Leadership::term)
        .orElse(Claim.NO_TERM);
  }

  @Override
  public void leave() {
    this.elector.stop();
  }
}
