package io.election.store;

import io.election.test.ElectionDirectoryContract;
import io.election.test.ManualEdits;
import io.election.test.ManualEditsContract;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Nested;

/** Shows that a list of stores behaves like a store. */
class JointLeaseStoreContractTest {

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ZERO, true);

  private static LeaseStore list(Map<String, SimulatedDatabase> databases) {
    List<JointPart> parts = new ArrayList<>();
    databases.forEach(
        (name, database) -> parts.add(new JointPart.Leases(name, database.new Store())));
    // Nobody holds a part alone here, so that it does not matter which node asks.
    return JointLeaseStore.of(parts, SETTINGS, () -> "any", System::nanoTime, Runnable::run);
  }

  private static SimulatedDatabase database() {
    AtomicLong micros = new AtomicLong(1_000_000_000);
    return new SimulatedDatabase(() -> micros.addAndGet(100));
  }

  @Nested
  class OfOne extends ElectionDirectoryContract {

    private final Map<String, SimulatedDatabase> databases = Map.of("only", database());

    @Override
    protected LeaseStore open() {
      return list(this.databases);
    }
  }

  /** Operators edit both parts alike. */
  @Nested
  class OfTwo extends ManualEditsContract {

    private final Map<String, SimulatedDatabase> databases =
        Map.of("first", database(), "second", database());

    @Override
    protected LeaseStore open() {
      return list(this.databases);
    }

    @Override
    protected ManualEdits edits() {
      List<ManualEdits> each =
          this.databases.values().stream().<ManualEdits>map(SimulatedEdits::new).toList();
      return (ManualEdits) Proxy.newProxyInstance(
          ManualEdits.class.getClassLoader(),
          new Class<?>[] {ManualEdits.class},
          (proxy, method, arguments) -> {
            Object answer = null;
            for (ManualEdits edits : each) {
              answer = method.invoke(edits, arguments);
            }
            return answer;
          });
    }
  }
}
