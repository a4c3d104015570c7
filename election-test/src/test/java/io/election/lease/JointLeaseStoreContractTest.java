package io.election.lease;

import io.election.testing.ElectionDirectoryContract;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Nested;

/** Shows that a list of stores behaves like a store. */
class JointLeaseStoreContractTest {

  private static LeaseStore list(Map<String, SimulatedDatabase> databases) {
    Map<String, LeaseStore> parts = new LinkedHashMap<>();
    databases.forEach((name, database) -> parts.put(name, database.new Store()));
    // Nobody holds a part alone here, so that it does not matter which node asks.
    return JointLeaseStore.of(parts, () -> "any", System::nanoTime);
  }

  private static SimulatedDatabase database() {
    AtomicLong micros = new AtomicLong(1_000_000_000);
    return new SimulatedDatabase(() -> micros.addAndGet(100));
  }

  @Nested
  class OfTwo extends ElectionDirectoryContract {

    private final Map<String, SimulatedDatabase> databases =
        Map.of("first", database(), "second", database());

    @Override
    protected LeaseStore open() {
      return list(this.databases);
    }
  }

  @Nested
  class OfOne extends ElectionDirectoryContract {

    private final Map<String, SimulatedDatabase> databases = Map.of("only", database());

    @Override
    protected LeaseStore open() {
      return list(this.databases);
    }
  }
}
