package io.election.autoconfigure.commitfence;

import io.election.jdbc.CommitFence;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Terms that must last, and the lock that keeps them from ending. */
class Terms {

  private final Map<String, Long> numbers = new HashMap<>(2);

  private @Nullable String nodeId;

  private CommitFence.@Nullable Held held;

  void add(BoundCall call) {
    this.nodeId = call.nodeId();
    // If a transaction has two terms of one election, the older one has ended. It is kept, so
    // that the commit is refused.
    this.numbers.merge(call.serviceId(), call.term(), Math::min);
  }

  /** The term of this node in each election. */
  Map<String, Long> numbers() {
    return this.numbers;
  }

  boolean isEmpty() {
    return this.numbers.isEmpty();
  }

  /** Keeps the terms from ending until they are let go. */
  void hold(CommitFence.Held held) {
    this.held = held;
  }

  boolean isHeld() {
    return this.held != null;
  }

  String nodeId() {
    return this.nodeId != null ? this.nodeId : "";
  }

  void letGo() {
    CommitFence.Held held = this.held;
    if (held != null) {
      this.held = null;
      held.close();
    }
  }
}
