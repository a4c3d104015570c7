package io.election.lease;

import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The life of a node in its elections: waits until something is due, does the most urgent, survives
 * whatever goes wrong. Used by the elector's thread.
 */
final class ElectionLoop {

  /** At most so many calls for each election in one {@link #doAllDue}. */
  private static final int MAX_CALLS = 16;

  private final ElectorContext context;

  private final List<Candidate> candidates;

  /** Whether it may do what nobody waits for. */
  private final BooleanSupplier mayTend;

  private final Backoff backoff;

  private final Agenda agenda;

  private final StoreCalls calls;

  private final HistoryReader histories;

  private final Members members;

  /** What somebody waits for: it has been run, and what follows from it is still to be done. */
  private Inbox.@Nullable Request served;

  /** In how many nanoseconds something is due. */
  private long pause;

  ElectionLoop(
      ElectorContext context,
      Candidacy.Node node,
      List<Candidate> candidates,
      BooleanSupplier mayTend) {
    this.mayTend = mayTend;
    this.context = context;
    this.candidates = candidates;
    this.backoff = new Backoff(node);
    this.agenda = new Agenda(node, candidates, context.work(), context.clocks(), this.backoff);
    this.calls = new StoreCalls(context, node, candidates, this.backoff);
    this.histories =
        new HistoryReader(context.store(), context.settings(), context.clocks(), context.log());
    this.members = new Members(context.store(), context.settings(), context.log());
  }

  StoreCalls calls() {
    return this.calls;
  }

  Members members() {
    return this.members;
  }

  /** Goes on until it is over. */
  void run(BooleanSupplier isOver) {
    Daemon.repeat(
        () -> !isOver.getAsBoolean() && waitAndDo(),
        this.context.pauseAfterFailure(),
        this.context.log());
  }

  private boolean waitAndDo() throws InterruptedException {
    long pause = this.pause;
    // Also after a failure.
    this.pause = 0;
    this.context.inbox().await(pause);
    this.pause = doMostUrgent();
    return true;
  }

  /**
   * Does all that is due, without waiting.
   *
   * @return in how many nanoseconds something is due next
   */
  long doAllDue() {
    long pause = 0;
    // However many elections there are; but no election for ever.
    int most = MAX_CALLS * (this.candidates.size() + 1);
    for (int i = 0; !this.context.inbox().isEmpty() || (pause == 0 && i < most); i++) {
      pause = doMostUrgent();
    }
    answerRequest();
    return pause;
  }

  /**
   * Does one thing: the renewals, else what follows from a request, else the next request, else what is
   * due, else what nobody waits for.
   *
   * @return in how many nanoseconds something is due next; 0 also if there may be more to do at once
   */
  private long doMostUrgent() {
    this.agenda.update();
    Inbox.Request request = this.served;
    if (request != null && !this.agenda.contains(request.candidate())) {
      answerRequest();
    }
    boolean urgent = this.agenda.containsRenewals()
        || this.served != null
        || this.context.inbox().isEmpty();
    if (urgent && !this.agenda.isEmpty()) {
      call();
      return 0;
    }
    if (!this.context.inbox().isEmpty()) {
      serve();
      return 0;
    }
    return this.mayTend.getAsBoolean() && this.backoff.isOver(this.context.now()) && tend()
        ? 0
        : this.agenda.pause();
  }

  private void call() {
    Inbox.Request request = this.served;
    Map<Candidate, Throwable> failed =
        this.calls.make(this.agenda.mostUrgent(request != null ? request.candidate() : null));
    Throwable failure = request != null ? failed.get(request.candidate()) : null;
    if (request != null && failure != null) {
      request.outcome().completeExceptionally(failure);
      this.served = null;
    }
    for (Throwable each : failed.values()) {
      if (each instanceof Error error) {
        throw error;
      }
    }
  }

  /** Does what somebody has asked for; what follows from it is due at once. */
  private void serve() {
    this.served = this.context.inbox().runNext(this);
    if (this.served != null) {
      this.backoff.end();
    }
  }

  void answerRequest() {
    Inbox.Request request = this.served;
    if (request != null) {
      this.served = null;
      request.outcome().complete(null);
    }
  }

  /** Does what nobody waits for, with one call; whether there was something to do. */
  private boolean tend() {
    return this.histories.tend(this.candidates, this.calls.readNanos())
        || this.members.tend(this.candidates, this.context.now());
  }

  /**
   * Closes the store.
   *
   * @param withdraws whether this node's entry in the register is deleted first, unless the store fails
   */
  void close(boolean withdraws) {
    try {
      if (withdraws && this.backoff.isOver(this.context.now())) {
        this.members.withdraw();
      }
    } finally {
      this.context.store().close();
    }
  }
}
