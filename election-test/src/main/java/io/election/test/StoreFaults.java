package io.election.test;

import static org.junit.jupiter.api.Assumptions.abort;

import io.election.store.LeaseStore;
import java.util.Set;

/**
 * A {@link LeaseStore} of one process, and what the test of the store can break for it. Each fault
 * is optional: a test that needs one that is not there is skipped, with a line that begins with
 * {@code not checked}.
 */
public interface StoreFaults {

  /**
   * Returns the store: the same instance each time, on the records of all stores of the test. A call
   * to it should end within a second at most.
   */
  LeaseStore store();

  /**
   * Locks records by other means than a store, until the faults end: nobody can write them, and
   * everybody can read them.
   */
  default void lock(Set<String> serviceIds) throws Exception {
    abort("not checked: records that another client has locked");
  }

  /**
   * Keeps the requests of the store from now on. They reach the server when the faults end, whether
   * or not the store waits for them or is still open.
   */
  default void holdRequests() throws Exception {
    abort("not checked: requests that arrive after their sender gave up");
  }

  /** Keeps the answer to the next request of the store that can change something, or read. */
  default void holdAnswers() throws Exception {
    abort("not checked: answers that do not arrive");
  }

  /** Lets the server undo each write of the store when it is to be kept, and say so. */
  default void undoCommits() throws Exception {
    abort("not checked: writes that the server undoes at their commit");
  }

  /** Gives new connections of the store all settings of a user that do not suit it. */
  default void useUnsuitableSettings() throws Exception {
    abort("not checked: connections whose settings do not suit the store");
  }

  /**
   * Copies all records, as they are, to another server that the store can be moved to.
   *
   * @return a store on that server, of another process
   */
  default LeaseStore copyToAnotherServer() throws Exception {
    return abort("not checked: another server under the same address");
  }

  /**
   * Lets the store's connection lead to the other server, without notice, until the faults end.
   * {@link #copyToAnotherServer()} has been called before.
   */
  default void moveToAnotherServer() throws Exception {
    abort("not checked: another server under the same address");
  }

  /** Ends all faults. Returns when the server has executed what was held, or will never do it. */
  default void end() throws Exception {}

  /** Ends all faults, and closes the stores. */
  default void close() throws Exception {
    store().close();
  }
}
