package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder.request;

import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseStore;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * The contract of a store finds what counts as a renewal and is none, and what is read in part.
 */
class MutantsTest {

  /**
   * What a store could mistake for a renewal, which is a write that changes no record; and a reading
   * that it could mistake for a complete one.
   */
  enum Mutant {
    NONE,

    /** A quorum has confirmed that nothing has changed; but the followers see no sign of it. */
    CONFIRMED_READ_RENEWS {
      @Override
      Optional<Map<String, Version>> renew(MemoryKeyValueServer.Cluster cluster, Commit renewal) {
        return cluster
            .commit(new Commit(expected(renewal), List.of(), 0))
            .map((none) -> expected(renewal));
      }
    },

    /** Some server has answered. */
    ANSWERED_PING_RENEWS {
      @Override
      Optional<Map<String, Version>> renew(MemoryKeyValueServer.Cluster cluster, Commit renewal) {
        return Optional.of(expected(renewal));
      }
    },

    /** The server keeps the heartbeat alive, whatever has become of the records. */
    SERVERS_LEASE_RENEWS {
      @Override
      Optional<Map<String, Version>> renew(MemoryKeyValueServer.Cluster cluster, Commit renewal) {
        return cluster.commit(new Commit(Map.of(), renewal.writes(), 0));
      }
    },

    /** A record has the version that it had, though it was deleted and created in between. */
    VERSION_IS_TRUSTED_ACROSS_A_DELETION,

    /**
     * ZooKeeper answers with the names of the nodes below another one. Those that a connection has
     * not found there before must be read by a second request, which is left out here: there are
     * terms without content and version, so that the newest one is not compared.
     */
    CHILDREN_APPEAR_UNREAD {
      @Override
      Function<Query, Snapshot> reader(MemoryKeyValueServer.Cluster cluster) {
        Set<String> found = new HashSet<>();
        return (query) -> {
          Snapshot all = cluster.read(query);
          Map<String, Entry> read = new HashMap<>(all.entries());
          read.keySet().removeIf((key) -> !query.keys().contains(key) && found.add(key));
          return new Snapshot(read, all.identity(), all.revision(), all.epoch());
        };
      }
    };

    Optional<Map<String, Version>> renew(MemoryKeyValueServer.Cluster cluster, Commit renewal) {
      return cluster.commit(renewal);
    }

    /** Returns how one connection reads. */
    Function<Query, Snapshot> reader(MemoryKeyValueServer.Cluster cluster) {
      return cluster::read;
    }

    private static Map<String, Version> expected(Commit renewal) {
      Map<String, Version> versions = new HashMap<>(renewal.checks());
      for (Write write : renewal.writes()) {
        versions.put(write.key(), ((Put) write).version());
      }
      return versions;
    }
  }

  /** The contract on a mutated server whose versions are reused. */
  static class MutatedContract extends KeyValueContract {

    private static Mutant mutant = Mutant.NONE;

    MutatedContract() {
      this.cluster.reusesVersions = true;
    }

    @Override
    protected LeaseStore open() {
      MemoryKeyValueServer.Cluster shared = this.cluster;
      MemoryKeyValueServer server = new MemoryKeyValueServer(
          shared,
          (commit) -> {
            boolean renewal = commit.writes().size() == 1
                && commit.writes().get(0) instanceof Put put
                && put.key().startsWith("~heartbeats/");
            return renewal ? mutant.renew(shared, commit) : shared.commit(commit);
          },
          mutant.reader(shared));
      server.tellsOfReuse = mutant != Mutant.VERSION_IS_TRUSTED_ACROSS_A_DELETION
          && mutant != Mutant.SERVERS_LEASE_RENEWS;
      return new KeyValueLeaseStore(server);
    }
  }

  @ParameterizedTest
  @EnumSource
  void theContractFindsIt(Mutant mutant) {
    MutatedContract.mutant = mutant;
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(request().selectors(selectClass(MutatedContract.class)).build(), listener);
    TestExecutionSummary summary = listener.getSummary();
    assertThat(summary.getTestsStartedCount()).isGreaterThan(50);
    List<String> failed = summary.getFailures().stream()
        .map((failure) -> failure.getTestIdentifier().getDisplayName())
        .toList();
    System.out.println(mutant + " is found by " + failed);
    assertThat(failed.isEmpty()).isEqualTo(mutant == Mutant.NONE);
  }
}
