package io.election.joint;

import io.election.ElectionService;
import io.election.lease.LeaseStore;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A part of the list of a {@link JointElector}.
 *
 * @param name its name, which differs from those of the other parts
 * @param store the store of its leases; {@code null} if it is an {@link ElectionService}
 * @param services creates its service for an election, if it has no store
 */
public record PartSource(
    String name, @Nullable LeaseStore store, Function<String, ElectionService> services) {

  /** Returns a part that is a lease in a store, with the name of the store. */
  public static PartSource of(LeaseStore store) {
    return of(store.name(), store);
  }

  /** Returns a part that is a lease in a store. */
  public static PartSource of(String name, LeaseStore store) {
    return new PartSource(name, store, (serviceId) -> {
      throw new IllegalStateException();
    });
  }
}
