package io.election.store;

import io.election.ElectionService;
import java.util.Objects;
import java.util.function.Function;

/** A part of a list, all of whose parts a leader must hold. Its name is the same on all nodes. */
public sealed interface JointPart {

  /** Returns the name of the part, which differs from those of the other parts. */
  String name();

  /**
   * A part that keeps leases.
   *
   * @param name its name
   * @param store the store, of this list alone. A call to a list may take the sum of the time-outs of
   *     its parts
   */
  record Leases(String name, LeaseStore store) implements JointPart {

    /** Creates a part. */
    public Leases {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(store, "store");
    }
  }

  /**
   * A part that is an election of the application, or manual allocation. It has neither lease nor
   * term, and is only as safe as its implementation.
   *
   * @param name its name
   * @param services supplies the service of an election; called by any thread, until it has returned one
   */
  record Service(String name, Function<String, ElectionService> services) implements JointPart {

    /** Creates a part. */
    public Service {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(services, "services");
    }
  }
}
