package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import io.election.store.RecordLockedException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The behaviour of every {@link LeaseStore} while other clients lock records, requests are late,
 * answers are lost, and servers change. Part of the {@link LeaseStoreContract}.
 */
public abstract class LeaseStoreFaultContract extends LeaseStoreRaceContract {

  /** The shortest time that a server can be told to wait for a lock is a second. */
  private static final Duration LOCK_WAIT = Duration.ofMillis(900);

  /** How long a store may take to get over a fault that has ended. */
  private static final Duration RECOVERY = Duration.ofSeconds(30);

  private @Nullable StoreFaults faults;

  LeaseStoreFaultContract() {}

  /**
   * Opens a store whose server, or the line to it, the contract breaks. By default nothing can be
   * broken, and the tests that need it are skipped.
   */
  protected StoreFaults faults() throws Exception {
    LeaseStore store = open();
    return () -> store;
  }

  private StoreFaults faulty() throws Exception {
    StoreFaults faults = faults();
    this.faults = faults;
    return faults;
  }

  @AfterEach
  final void endFaults() throws Exception {
    if (this.faults != null) {
      this.faults.close();
      this.faults = null;
    }
  }

  /** The kinds of writes on a record that {@link #A} leads. */
  private enum Kind {
    RENEWAL {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return Leases.renew(store, A, Map.of(serviceId, seen.term())).contains(serviceId);
      }
    },
    RENEWAL_OF_SEVERAL {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return Leases.renew(store, A, Map.of(serviceId, seen.term(), "without-a-record", 1L))
            .contains(serviceId);
      }
    },
    TOUCH {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return store.touch(serviceId, seen).isPresent();
      }
    },
    TAKE_OVER {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return Leases.acquire(store, serviceId, seen, A, LEASE, 0, "EXPIRED").isPresent();
      }
    },
    BEGIN {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return Leases.begin(store, serviceId, seen, LEASE).isPresent();
      }
    },
    RELEASE {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return store.release(serviceId, A, seen.term(), "", RESIGNED);
      }
    },
    DESIGNATION {
      @Override
      boolean write(LeaseStore store, String serviceId, LeaseRow seen) throws LeaseStoreException {
        return store.designate(serviceId, B, seen, ALICE);
      }
    };

    abstract boolean write(LeaseStore store, String serviceId, LeaseRow seen)
        throws LeaseStoreException;

    String service() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Returns whether the store says that the write has happened; it may also throw. */
    boolean succeeds(LeaseStore store, LeaseRow seen) {
      try {
        return write(store, service(), seen);
      } catch (LeaseStoreException ex) {
        return false;
      }
    }

    /** Lets {@link #A} lead by a store, and returns the record as that store sees it. */
    LeaseRow lead(LeaseStore store) throws Exception {
      return leadBy(store, service());
    }
  }

  private static LeaseRow leadBy(LeaseStore store, String serviceId) throws Exception {
    LeaseRow created = Leases.create(store, serviceId, A, LEASE, 0).orElseThrow();
    assertThat(Leases.begin(store, serviceId, created, LEASE)).isPresent();
    LeaseRow row = row(store, serviceId);
    assertThat(row.own()).isTrue();
    return row;
  }

  /** Repeats a call until its outcome is known, as a node does after a fault. */
  private static <T> T known(Callable<T> call) throws Exception {
    long begin = System.nanoTime();
    while (true) {
      try {
        return call.call();
      } catch (LeaseStoreException ex) {
        if (System.nanoTime() - begin > RECOVERY.toNanos()) {
          throw ex;
        }
      }
    }
  }

  /** Asserts that a call does not wait for a lock: not each time, however busy the machine is. */
  private static void doesNotWait(Call call) throws Exception {
    Duration shortest = RECOVERY;
    for (int i = 0; i < 4 && shortest.compareTo(LOCK_WAIT) > 0; i++) {
      long begin = System.nanoTime();
      call.run();
      Duration time = Duration.ofNanos(System.nanoTime() - begin);
      shortest = time.compareTo(shortest) < 0 ? time : shortest;
    }
    assertThat(shortest).as("the shortest of four calls").isLessThan(LOCK_WAIT);
  }

  @FunctionalInterface
  private interface Call {

    void run() throws Exception;
  }

  @Test
  void aTakeOverOfALockedRecordChangesNothingAndDoesNotWait() throws Exception {
    long term = led(SERVICE, A).term();
    LeaseRow old = seenByAnother(SERVICE);
    renew(A, Map.of(SERVICE, term));
    LeaseRow row = row(SERVICE);
    LeaseRow seen = seenByAnother(SERVICE);
    StoreFaults faults = faulty();
    faults.lock(Set.of(SERVICE));

    doesNotWait(() -> assertThatThrownBy(
            () -> Leases.acquire(another(), SERVICE, seen, B, LEASE, 0, "EXPIRED"))
        .as("no other node was faster")
        .isInstanceOf(RecordLockedException.class)
        .hasMessageContaining(SERVICE));

    assertThat(Leases.acquire(another(), SERVICE, old, B, LEASE, 0, "EXPIRED"))
        .as("another node was faster")
        .isEmpty();
    assertThat(row(SERVICE)).as("readers do not wait").isEqualTo(row);
    faults.end();
    assertThat(Leases.acquire(another(), SERVICE, seen, B, LEASE, 0, "EXPIRED")).isPresent();
  }

  @Test
  void aLockedRecordKeepsNoOtherLeaseFromBeingRenewed() throws Exception {
    Map<String, Long> terms = leadMany(5);
    terms.put("lost", led("lost", B).term());
    Set<String> free = new HashSet<>(terms.keySet());
    free.removeAll(Set.of("service-1", "service-3", "lost"));
    StoreFaults faults = faulty();
    faults.lock(Set.of("service-1", "service-3"));

    doesNotWait(() -> {
      Map<String, LeaseRow> before = rows(terms.keySet());
      Renewals renewals = store().renew(A, terms);
      assertThat(renewals.renewed()).isEqualTo(free);
      assertThat(renewals.unknown())
          .as("leases that may still be held")
          .containsExactlyInAnyOrder("service-1", "service-3");
      assertThat(renewals.problem()).isNotBlank();
      Map<String, LeaseRow> after = rows(terms.keySet());
      for (String service : terms.keySet()) {
        assertThat(row(after, service).equals(row(before, service)))
            .as("%s is as before", service)
            .isNotEqualTo(free.contains(service));
      }
    });

    faults.end();
    terms.remove("lost");
    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
  }

  private Map<String, LeaseRow> rows(Set<String> serviceIds) throws LeaseStoreException {
    Map<String, LeaseRow> rows = new HashMap<>();
    store().read(serviceIds).forEach((serviceId, reading) -> rows.put(serviceId, reading.row()));
    return rows;
  }

  private static LeaseRow row(Map<String, LeaseRow> rows, String serviceId) {
    return Optional.ofNullable(rows.get(serviceId)).orElseThrow();
  }

  @Test
  void theOnlyLeaseIsNotLostWhileItsRecordIsLocked() throws Exception {
    Map<String, Long> terms = Map.of(SERVICE, led(SERVICE, A).term());
    StoreFaults faults = faulty();
    faults.lock(Set.of(SERVICE));

    try {
      assertThat(store().renew(A, terms).unknown()).containsExactly(SERVICE);
    } catch (LeaseStoreException ex) {
      // The outcome is unknown for all leases.
    }

    faults.end();
    assertThat(known(() -> renew(A, terms))).containsExactly(SERVICE);
  }

  @Test
  void aLockedRecordHoldsUpNoOtherElection() throws Exception {
    led(SERVICE, A);
    StoreFaults faults = faulty();
    faults.lock(Set.of(SERVICE));

    LeaseRow created = create("other", B, LEASE, 0).orElseThrow();
    LeaseRow warm = store().touch("other", created).orElseThrow();
    assertThat(begin("other", warm, LEASE)).isTrue();
    assertThat(renew(B, Map.of("other", created.term()))).containsExactly("other");
    assertThat(store().designate("other", A, null, ALICE)).isTrue();
    assertThat(Leases.acquire(store(), "other", row("other"), A, LEASE, 0, "DESIGNATED"))
        .isPresent();
    assertThat(store().release("other", A, row("other").term(), "", RESIGNED)).isTrue();
    faults.end();
  }

  @Test
  void aWriteThatArrivesLateChangesNothingOnceAnotherNodeHasLed() throws Exception {
    StoreFaults faults = faulty();
    for (Kind kind : EnumSet.complementOf(EnumSet.of(Kind.RENEWAL_OF_SEVERAL, Kind.BEGIN))) {
      lateIsNothing(faults, kind, () -> {});
    }
  }

  @Test
  void aWriteThatArrivesAfterTheDeathOfItsSenderChangesNothingOnceAnotherNodeHasLed()
      throws Exception {
    StoreFaults faults = faulty();
    for (Kind kind : EnumSet.of(Kind.RENEWAL, Kind.RELEASE)) {
      lateIsNothing(faults, kind, () -> faults.store().close());
    }
  }

  private void lateIsNothing(StoreFaults faults, Kind kind, Call then) throws Exception {
    LeaseRow seen = known(() -> kind.lead(faults.store()));
    faults.holdRequests();
    assertThat(kind.succeeds(faults.store(), seen))
        .as("%s without an answer", kind)
        .isFalse();
    then.run();
    assertThat(Leases.acquire(
            another(), kind.service(), seenByAnother(kind.service()), B, LEASE, 0, "EXPIRED"))
        .isPresent();
    LeaseRow taken = seenByAnother(kind.service());

    faults.end();

    assertThat(seenByAnother(kind.service())).as("after a late %s", kind).isEqualTo(taken);
    assertThat(known(() -> Leases.renew(faults.store(), A, Map.of(kind.service(), seen.term()))))
        .isEmpty();
  }

  @Test
  void aCreationThatArrivesLateChangesNothingOnceThereIsARecord() throws Exception {
    StoreFaults faults = faulty();
    assertThat(known(() -> faults.store().read(Set.of(SERVICE)))).isEmpty();
    faults.holdRequests();
    assertThatThrownBy(() -> Leases.create(faults.store(), SERVICE, B, LEASE, 0))
        .isInstanceOf(LeaseStoreException.class);
    LeaseRow row = led(SERVICE, A);

    faults.end();

    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void aReleaseThatArrivesLateIsOnlyEverARelease() throws Exception {
    StoreFaults faults = faulty();
    LeaseRow seen = known(() -> leadBy(faults.store(), SERVICE));
    faults.holdRequests();
    assertThat(Kind.RELEASE.succeeds(faults.store(), seen)).isFalse();

    faults.end();

    LeaseRow late = row(SERVICE);
    assertThat(late.term()).isEqualTo(seen.term());
    boolean released = late.leaderId().isEmpty() && Long.valueOf(0).equals(late.leaseMillis());
    assertThat(released || late.leaderId().equals(A)).isTrue();
    assertThat(known(() -> Leases.renew(faults.store(), A, Map.of(SERVICE, seen.term()))))
        .hasSize(released ? 0 : 1);
  }

  /** A connection that has failed may yet bring an answer to an earlier request. */
  @Test
  void aWriteWithoutAnAnswerIsUnknownAndTheNextCallHasItsOwnAnswer() throws Exception {
    StoreFaults faults = faulty();
    for (Kind kind : EnumSet.of(Kind.RENEWAL, Kind.TAKE_OVER, Kind.RELEASE)) {
      LeaseRow seen = known(() -> kind.lead(faults.store()));
      faults.holdAnswers();
      assertThatThrownBy(() -> kind.write(faults.store(), kind.service(), seen))
          .as("%s without an answer", kind)
          .isInstanceOf(LeaseStoreException.class);

      faults.end();

      assertThat(known(() -> faults.store().read(Set.of("without-a-record")))).isEmpty();
      LeaseRow row = known(() -> row(faults.store(), kind.service()));
      assertThat(row.isSameRecord(seenByAnother(kind.service()))).isTrue();
      long term = row.term();
      assertThat(known(() -> Leases.renew(faults.store(), A, Map.of(kind.service(), term))))
          .hasSize(row.leaderId().equals(A) ? 1 : 0);
    }
  }

  @Test
  void aWriteThatTheServerUndoesIsNotBelieved() throws Exception {
    StoreFaults faults = faulty();
    for (Kind kind : Kind.values()) {
      LeaseRow seen = known(() -> kind.lead(faults.store()));
      faults.undoCommits();

      assertThatThrownBy(() -> kind.write(faults.store(), kind.service(), seen))
          .as("%s that is undone", kind)
          .isInstanceOf(LeaseStoreException.class);

      faults.end();
      assertThat(seenByAnother(kind.service()).isSameRecord(seen))
          .as("%s", kind)
          .isTrue();
    }
    faults.undoCommits();
    assertThatThrownBy(() -> Leases.create(faults.store(), SERVICE, A, LEASE, 0))
        .isInstanceOf(LeaseStoreException.class);
    faults.end();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void aConnectionWithUnsuitableSettingsIsSetUpOrRefused() throws Exception {
    StoreFaults faults = faulty();
    faults.useUnsuitableSettings();
    LeaseStore store = faults.store();
    LeaseRow row;
    try {
      row = leadBy(store, SERVICE);
    } catch (LeaseStoreException ex) {
      return; // refused
    }
    assertThat(seenByAnother(SERVICE).isSameRecord(row)).as("written at once").isTrue();
    leadBy(store, "second");
    Map<String, Long> terms =
        Map.of(SERVICE, row.term(), "second", row(store, "second").term());
    assertThat(store.read(terms.keySet())).hasSize(2);
    LeaseRow before = seenByAnother(SERVICE);
    assertThat(Leases.renew(store, A, terms)).isEqualTo(terms.keySet());
    LeaseRow renewed = seenByAnother(SERVICE);
    assertThat(renewed).isNotEqualTo(before);

    assertThat(store.touch(SERVICE, before)).isEmpty();
    assertThat(Leases.renew(store, A, Map.of("second", -1L))).isEmpty();
    assertThat(Leases.acquire(another(), SERVICE, renewed, B, LEASE, 0, "EXPIRED"))
        .as("a write that changed nothing has left no lock")
        .isPresent();
    assertThat(row(store, SERVICE).leaderId()).as("read anew").isEqualTo(B);
    assertThat(store.release("second", A, row(store, "second").term(), "", RESIGNED))
        .isTrue();
    assertThat(seenByAnother("second").leaderId()).isEmpty();
  }

  @Test
  void aConnectionThatLeadsToAnotherServerGrantsNothing() throws Exception {
    StoreFaults faults = faulty();
    for (Kind kind : Kind.values()) {
      kind.lead(faults.store());
    }
    LeaseStore there = faults.copyToAnotherServer();
    for (Kind kind : Kind.values()) {
      LeaseRow seen = known(() -> row(faults.store(), kind.service()));
      assertThat(seen.own()).isTrue();
      LeaseRow copy = row(there, kind.service());
      assertThat(copy.isSameRecord(seen)).as("the record on another server").isFalse();
      assertThat(kind.succeeds(there, seen))
          .as("%s of what was seen elsewhere", kind)
          .isFalse();
      faults.moveToAnotherServer();

      assertThat(kind.succeeds(faults.store(), seen))
          .as("%s on another server", kind)
          .isFalse();

      assertThat(row(there, kind.service())).as("after a %s", kind).isEqualTo(copy);
      anotherRecord(faults.store(), kind.service(), seen);
      faults.end();
    }
  }

  /** Several times, because a busy machine may refuse a reading that would have been answered. */
  @Test
  void aReadingFromAnotherServerIsRefusedOrAnotherRecord() throws Exception {
    StoreFaults faults = faulty();
    leadBy(faults.store(), SERVICE);
    faults.copyToAnotherServer();
    for (int i = 0; i < 5; i++) {
      LeaseRow seen = known(() -> row(faults.store(), SERVICE));
      assertThat(seen.own()).isTrue();
      faults.moveToAnotherServer();
      try {
        requireAnother(row(faults.store(), SERVICE), seen);
      } catch (LeaseStoreException ex) {
        // refused
      }
      anotherRecord(faults.store(), SERVICE, seen);
      faults.end();
    }
  }

  private static void anotherRecord(LeaseStore store, String serviceId, LeaseRow seen)
      throws Exception {
    requireAnother(known(() -> row(store, serviceId)), seen);
  }

  private static void requireAnother(LeaseRow read, LeaseRow seen) {
    assertThat(read.isSameRecord(seen)).as("the same record on another server").isFalse();
    assertThat(read.own()).isFalse();
  }

  @Test
  void aTakeOverThatTheNextServerHasLostIsNoLease() throws Exception {
    StoreFaults faults = faulty();
    LeaseRow seen = leadBy(faults.store(), SERVICE);
    faults.copyToAnotherServer();
    long term =
        Leases.acquire(faults.store(), SERVICE, seen, A, LEASE, 0, "EXPIRED").orElseThrow();
    faults.moveToAnotherServer();

    assertThat(known(() -> Leases.renew(faults.store(), A, Map.of(SERVICE, term))))
        .isEmpty();
    assertThat(known(() -> faults.store().release(SERVICE, A, term, "", RESIGNED)))
        .isFalse();
    anotherRecord(faults.store(), SERVICE, seen);
  }

  @Test
  void whatAnotherProcessOfTheSameNodeLeadsIsNeitherRenewedNorReleased() throws Exception {
    long term = leadBy(another(), SERVICE).term();
    Map<String, Long> terms = leadMany(2);
    terms.put(SERVICE, term);
    LeaseRow row = row(SERVICE);

    assertThat(renew(A, Map.of(SERVICE, term))).isEmpty();
    assertThat(renew(A, terms)).containsExactlyInAnyOrder("service-0", "service-1");
    assertThat(store().release(SERVICE, A, term, "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);

    assertThat(another().designate(SERVICE, B, null, null)).isTrue();
    LeaseRow displaced = row(SERVICE);
    assertThat(cede(SERVICE, A, term, DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(displaced);
  }
}
