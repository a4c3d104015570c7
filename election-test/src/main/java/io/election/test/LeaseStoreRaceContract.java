package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.PastTerm;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The behaviour of every {@link LeaseStore} when several processes call it at the same instant.
 * Part of the {@link LeaseStoreContract}.
 */
public abstract class LeaseStoreRaceContract extends LeaseStoreFixture {

  private static final int NODES = 6;

  LeaseStoreRaceContract() {}

  private static String node(int number) {
    return "node-" + number;
  }

  @Test
  void atMostOneOfManyNodesTakesALeaseOver() throws Exception {
    List<LeaseStore> nodes = openMore(NODES);
    led(SERVICE, A);
    int taken = 0;
    for (int round = 0; round < rounds(); round++) {
      long before = row(SERVICE).term();
      List<Callable<OptionalLong>> calls = new ArrayList<>();
      for (int i = 0; i < NODES; i++) {
        LeaseStore node = nodes.get(i);
        String name = node(i);
        LeaseRow seen = row(node, SERVICE);
        calls.add(() -> Leases.acquire(node, SERVICE, seen, name, LEASE, 0, "EXPIRED"));
      }

      List<Optional<OptionalLong>> answers = Race.run(calls);

      int[] winners = winners(answers);
      assertThat(winners)
          .as("nodes that took the lease over in round %s", round)
          .hasSizeLessThan(2);
      for (int winner : winners) {
        taken++;
        LeaseRow row = row(nodes.get(winner), SERVICE);
        assertThat(row.leaderId()).isEqualTo(node(winner));
        assertThat(row.term()).isGreaterThan(before);
        assertThat(answers.get(winner).orElseThrow()).hasValue(row.term());
        for (LeaseStore node : nodes) {
          assertThat(row(node, SERVICE).own()).isEqualTo(node == nodes.get(winner));
        }
        theOpenTermIs(SERVICE, row.term());
      }
    }
    assertThat(taken).as("rounds that a node has won").isGreaterThan(rounds() / 2);
  }

  private static int[] winners(List<Optional<OptionalLong>> answers) {
    return IntStream.range(0, answers.size())
        .filter((i) -> answers.get(i).orElse(OptionalLong.empty()).isPresent())
        .toArray();
  }

  private void theOpenTermIs(String serviceId, long term) throws LeaseStoreException {
    if (store() instanceof ElectionDirectory directory) {
      assertThat(directory.history(Set.of(serviceId)).getOrDefault(serviceId, List.of()))
          .filteredOn((past) -> past.until() == null)
          .extracting(PastTerm::term)
          .as("the open terms")
          .containsExactly(term);
    }
  }

  @Test
  void atMostOneOfManyNodesCreatesARecord() throws Exception {
    List<LeaseStore> nodes = openMore(NODES);
    int created = 0;
    for (int round = 0; round < rounds(); round++) {
      String service = "race-" + round;
      List<Callable<Optional<LeaseRow>>> calls = new ArrayList<>();
      for (int i = 0; i < NODES; i++) {
        LeaseStore node = nodes.get(i);
        String name = node(i);
        calls.add(() -> Leases.create(node, service, name, LEASE, 0));
      }

      List<LeaseRow> records = Race.run(calls).stream()
          .flatMap(Optional::stream)
          .flatMap(Optional::stream)
          .toList();

      assertThat(records).as("records created in round %s", round).hasSizeLessThan(2);
      for (LeaseRow record : records) {
        created++;
        assertThat(row(service)).isEqualTo(record);
        theOpenTermIs(service, record.term());
      }
    }
    assertThat(created).as("rounds that a node has won").isGreaterThan(rounds() / 2);
  }

  @Test
  void atMostOneWriteSucceedsOnOneReading() throws Exception {
    List<LeaseStore> nodes = openMore(NODES);
    int written = 0;
    for (int round = 0; round < rounds(); round++) {
      String service = "race-" + round;
      led(service, A);
      List<Callable<Boolean>> calls = new ArrayList<>();
      for (int i = 0; i < NODES; i++) {
        LeaseStore node = nodes.get(i);
        String name = node(i);
        LeaseRow seen = row(node, service);
        calls.add(List.<Callable<Boolean>>of(
                () -> Leases.acquire(node, service, seen, name, LEASE, 0, "EXPIRED")
                    .isPresent(),
                () -> node.touch(service, seen).isPresent(),
                () -> node.designate(service, name, seen, ALICE))
            .get(i % 3));
      }

      long done =
          Race.run(calls).stream().filter((answer) -> answer.orElse(false)).count();

      assertThat(done).as("writes on one reading in round %s", round).isLessThan(2);
      written += (int) done;
    }
    assertThat(written).as("rounds with a write").isGreaterThan(rounds() / 2);
  }

  @Test
  void aLeaseIsNotBothRenewedAndTakenOver() throws Exception {
    for (int round = 0; round < rounds(); round++) {
      Map<String, Long> terms = ledIn(round, 1);
      String service = terms.keySet().iterator().next();
      renewedOrTaken(service, terms);
    }
  }

  @Test
  void oneOfSeveralLeasesIsNotBothRenewedAndTakenOver() throws Exception {
    for (int round = 0; round < rounds(); round++) {
      Map<String, Long> terms = ledIn(round, 3);
      renewedOrTaken("race-%s-1".formatted(round), terms);
    }
  }

  private Map<String, Long> ledIn(int round, int elections) throws LeaseStoreException {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < elections; i++) {
      String service = "race-%s-%s".formatted(round, i);
      terms.put(service, led(service, A).term());
    }
    return terms;
  }

  /** A record that another process writes keeps no other lease from being renewed. */
  private void renewedOrTaken(String service, Map<String, Long> terms) throws Exception {
    LeaseRow seen = seenByAnother(service);
    Set<String> others = new HashSet<>(terms.keySet());
    others.remove(service);

    List<Boolean> done = Race.run(
        () -> {
          LeaseStore.Renewals renewals = store().renew(A, terms);
          assertThat(renewals.renewed()).containsAll(others);
          return renewals.renewed().contains(service);
        },
        () -> Leases.acquire(another(), service, seen, B, LEASE, 0, "EXPIRED").isPresent());

    assertThat(done).as("renewed, taken over").isNotEqualTo(List.of(true, true));
    LeaseRow row = row(service);
    if (done.get(1)) {
      assertThat(row.leaderId()).isEqualTo(B);
      assertThat(row.own()).isFalse();
      assertThat(renew(A, terms)).isEqualTo(others);
      theOpenTermIs(service, row.term());
    } else if (done.get(0)) {
      assertThat(row.leaderId()).isEqualTo(A);
      assertThat(row.term()).isEqualTo(seen.term());
      assertThat(row.own()).isTrue();
    }
  }

  @Test
  void aLeaseIsNotBothReleasedAndTakenOver() throws Exception {
    for (int round = 0; round < rounds(); round++) {
      String service = "race-" + round;
      long term = led(service, A).term();
      LeaseRow seen = seenByAnother(service);

      List<Boolean> done = Race.run(
          () -> store().release(service, A, term, "", RESIGNED),
          () -> Leases.acquire(another(), service, seen, B, LEASE, 0, "EXPIRED").isPresent());

      assertThat(done).as("released, taken over").isNotEqualTo(List.of(true, true));
      LeaseRow row = row(service);
      if (done.get(1)) {
        assertThat(row.leaderId()).isEqualTo(B);
        assertThat(row.leaseMillis()).isEqualTo(LEASE);
        theOpenTermIs(service, row.term());
      } else if (done.get(0)) {
        assertThat(row.leaderId()).isEmpty();
        assertThat(row.term()).isEqualTo(term);
      }
    }
  }

  @Test
  void aLeaseIsNotBothRenewedAndDesignatedOnOneReading() throws Exception {
    for (int round = 0; round < rounds(); round++) {
      String service = "race-" + round;
      Map<String, Long> terms = Map.of(service, led(service, A).term());
      LeaseRow seen = seenByAnother(service);

      List<Boolean> done = Race.run(
          () -> store().renew(A, terms).renewed().contains(service),
          () -> another().designate(service, B, seen, ALICE));

      assertThat(done).as("renewed, designated").isNotEqualTo(List.of(true, true));
      assertThat(row(service).leaderId()).isEqualTo(done.get(1) ? B : A);
    }
  }

  @Test
  void noRenewalUndoesADesignation() throws Exception {
    for (int round = 0; round < rounds(); round++) {
      String service = "race-" + round;
      Map<String, Long> terms = Map.of(service, led(service, A).term());

      List<Boolean> done = Race.run(
          () -> store().renew(A, terms).renewed().contains(service),
          () -> another().designate(service, B, null, ALICE));

      assertThat(done.get(1)).as("designated").isTrue();
      assertThat(row(service).leaderId()).isEqualTo(B);
      assertThat(renew(A, terms)).isEmpty();
    }
  }

  @Test
  void leasesAreRenewedWhileOthersWriteTheirRecords() throws Exception {
    List<LeaseStore> nodes = openMore(NODES);
    Map<String, Long> terms = leadMany(NODES);
    for (int round = 0; round < rounds(); round++) {
      List<Callable<Boolean>> calls = new ArrayList<>();
      calls.add(() -> store().renew(A, terms).renewed().equals(terms.keySet()));
      for (int i = 0; i < NODES; i++) {
        LeaseStore node = nodes.get(i);
        String name = node(i);
        String service = "race-%s-%s".formatted(round, i);
        calls.add(() -> {
          LeaseRow created = Leases.create(node, service, name, LEASE, 0).orElseThrow();
          LeaseRow warm = node.touch(service, created).orElseThrow();
          long term = Leases.begin(node, service, warm, LEASE).orElseThrow();
          return node.renew(name, Map.of(service, term)).renewed().contains(service)
              && node.release(service, name, term, "", RESIGNED);
        });
      }

      assertThat(Race.run(calls)).as("round %s", round).allMatch((done) -> done.orElse(false));
    }
  }
}
