package io.election.ownstore;

import io.election.lease.MemoryLeaseStore;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A store as an application brings one. */
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

  /** The threads that have closed the store. */
  Queue<String> closers() {
    return this.closers;
  }
}
