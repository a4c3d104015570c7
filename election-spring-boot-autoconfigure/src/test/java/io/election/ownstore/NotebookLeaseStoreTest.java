package io.election.ownstore;

import io.election.ownstore.NotebookLeaseStore.Page;
import io.election.store.LeaseStore;
import io.election.test.LeaseStoreContract;
import java.util.HashMap;
import java.util.Map;

/** The store of one's own keeps the published contract of all stores. */
class NotebookLeaseStoreTest extends LeaseStoreContract {

  private final Map<String, Page> notebook = new HashMap<>();

  @Override
  protected LeaseStore open() {
    return new NotebookLeaseStore(this.notebook);
  }
}
