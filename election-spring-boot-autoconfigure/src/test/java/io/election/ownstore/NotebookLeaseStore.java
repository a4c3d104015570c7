package io.election.ownstore;

import io.election.lease.MemoryLeaseStore;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A lease store that an application provides. */
class NotebookLeaseStore extends MemoryLeaseStore {

  private final Queue<String> closers = new ConcurrentLinkedQueue<>();

  @Override
  public String name() {
    return "notebook";
  }

  @Override
  public void close() {
    this.closers.add(Thread.currentThread().getName());
  }

  /** Returns the threads that have closed the store. */
  Queue<String> closers() {
    return this.closers;
  }
}
