package io.election.jdbc;

import io.election.store.LeaseStore;
import io.election.support.TestServer;
import io.election.test.StoreFaults;
import java.util.function.Supplier;

/** With settings that make no difference when a connection breaks, and little when nodes race. */
abstract class SettingsContract extends SqlContract {

  SettingsContract(Supplier<TestServer> server, Connecting connecting) {
    super(server, connecting);
  }

  @Override
  protected int rounds() {
    return 2;
  }

  @Override
  protected StoreFaults faults() {
    LeaseStore store = open();
    return () -> store;
  }
}
