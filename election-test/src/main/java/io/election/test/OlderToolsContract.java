package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The behaviour of a {@link LeaseStore} beside an older tool on the same table. The tool knows
 * neither term nor lease and compares the time of the last write with a clock.
 */
public abstract class OlderToolsContract extends ManualEditsContract {

  /** How long a record must be unchanged before a node of the older tool takes it. */
  protected static final Duration OLDER_TOOLS_INTERVAL = Duration.ofSeconds(5);

  protected OlderToolsContract() {}

  /**
   * Does what a node of the older tool does every second: renews its own record, takes the record
   * of another node that has not changed for {@link #OLDER_TOOLS_INTERVAL}, or inserts a missing
   * one.
   */
  protected abstract void contend(String serviceId, String nodeId);

  @Test
  void touchingWorksOnARecordWithoutALease() throws Exception {
    contend(SERVICE, A);

    LeaseRow touched = store().touch(SERVICE, row(SERVICE)).orElseThrow();

    assertThat(touched.leaseMillis()).isNull();
    assertThat(touched).isEqualTo(row(SERVICE));
  }

  @Test
  void aLeaseThatIsUnknownIsNotRenewed() throws Exception {
    contend(SERVICE, A);

    assertThat(renew(A, Map.of(SERVICE, 0L))).isEmpty();
  }

  @Test
  void aRecordOfAnOlderToolCanBeTaken() throws Exception {
    contend(SERVICE, A);
    LeaseRow row = row(SERVICE);
    assertThat(row.leaseMillis()).isNull();

    assertThat(Leases.acquire(store(), SERVICE, row, B, LEASE, 0, "EXPIRED").orElseThrow())
        .isPositive();
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(LEASE);
  }

  @Test
  void theRenewalOfAnOlderToolCountsAsAChange() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().touch(SERVICE);

    assertThat(row(SERVICE)).isNotEqualTo(row);
  }

  @Test
  void anOlderToolInsertsARecordWithoutTermAndLease() throws Exception {
    contend(SERVICE, A);

    LeaseRow row = row(SERVICE);
    assertThat(row.leaderId()).isEqualTo(A);
    assertThat(row.term()).isZero();
    assertThat(row.leaseMillis()).isNull();
  }

  @Test
  void anOlderToolLeavesARecordAloneThatHasJustBeenRenewed() throws Exception {
    LeaseRow led = led(SERVICE, A);
    edits().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));
    assertThat(renew(A, Map.of(SERVICE, led.term()))).containsExactly(SERVICE);
    LeaseRow renewed = row(SERVICE);

    contend(SERVICE, B);

    assertThat(row(SERVICE)).isEqualTo(renewed);
  }

  @Test
  void anOlderToolTakesARecordThatHasRestedAndKeepsItsTerm() throws Exception {
    LeaseRow led = led(SERVICE, A);
    edits().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));

    contend(SERVICE, B);

    LeaseRow taken = row(SERVICE);
    assertThat(taken.leaderId()).isEqualTo(B);
    assertThat(taken.term()).isEqualTo(led.term());
    assertThat(taken.leaseMillis()).isEqualTo(led.leaseMillis());
    assertThat(renew(A, Map.of(SERVICE, led.term()))).isEmpty();
  }

  @Test
  void anOlderToolRenewsByAChangeOfTheTimeAlone() throws Exception {
    contend(SERVICE, A);
    edits().setBack(SERVICE, Duration.ofSeconds(2));
    LeaseRow before = row(SERVICE);

    contend(SERVICE, A);

    LeaseRow renewed = row(SERVICE);
    assertThat(renewed).isNotEqualTo(before);
    assertThat(renewed).usingRecursiveComparison().ignoringFields("version").isEqualTo(before);
    assertThat(Leases.acquire(store(), SERVICE, before, B, LEASE, 0, "EXPIRED")).isEmpty();
  }

  @Test
  void anOlderToolDoesNotTakeARecordThatHasJustBeenReleased() throws Exception {
    LeaseRow led = led(SERVICE, A);
    edits().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));
    assertThat(store().release(SERVICE, A, led.term(), "", RESIGNED)).isTrue();
    LeaseRow released = row(SERVICE);

    contend(SERVICE, B);

    assertThat(row(SERVICE)).isEqualTo(released);
  }

  @Test
  void aRecordThatAnOlderToolTookIsOwnToNoProcess() throws Exception {
    ownNoMore(SERVICE, (row) -> {
      edits().setBack(SERVICE, OLDER_TOOLS_INTERVAL.multipliedBy(2));
      contend(SERVICE, B);
      edits().setLeader(SERVICE, A);
    });
  }
}
