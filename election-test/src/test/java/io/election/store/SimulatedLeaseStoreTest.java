package io.election.store;

import io.election.test.ManualEdits;
import io.election.test.OlderToolsContract;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Shows that the store in memory, which the simulation, the exhaustive search and the test kit use,
 * behaves like the real ones.
 */
class SimulatedLeaseStoreTest extends OlderToolsContract {

  private final AtomicLong micros = new AtomicLong(1_000_000_000);

  private final SimulatedDatabase database =
      new SimulatedDatabase(() -> this.micros.addAndGet(100));

  @Override
  protected LeaseStore open() {
    return this.database.new Store();
  }

  @Override
  protected ManualEdits edits() {
    return new SimulatedEdits(this.database);
  }

  @Override
  protected void contend(String serviceId, String nodeId) {
    this.database.contend(serviceId, nodeId, OLDER_TOOLS_INTERVAL);
  }
}
