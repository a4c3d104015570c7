package io.election.lease;

import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The main loop of a node: waits until something is due, does what is most urgent, and survives any
 * failure. Used by the elector's thread.
 */
final class ElectionLoop {

  /** The maximum number of calls per election in one {@link #doAllDue}. */
  private static final int MAX_CALLS = 16;

  private final ElectorContext context;

  private final List<Candidate> candidates;

  /** Whether background tasks may run. */
  private final BooleanSupplier mayRunBackgroundTasks;

  private final Backoff backoff;

  private final Agenda agenda;

  private final StoreCalls calls;

  private final HistoryReader histories;

  private final Members members;

  private final HoldBack holdBack;

  /** The request whose task has run and whose consequences are still to be carried out. */
  private Inbox.@Nullable Request served;

  /** In how many nanoseconds something is due. */
  private long pause;

  ElectionLoop(
      ElectorContext context,
      Node node,
      List<Candidate> candidates,
      BooleanSupplier mayRunBackgroundTasks,
      boolean stepped) {
    this.mayRunBackgroundTasks = mayRunBackgroundTasks;
    this.context = context;
    this.candidates = candidates;
    this.histories =
        new HistoryReader(context.directory(), context.settings(), context.clocks(), context.log());
    Answers answers = new Answers(
        stepped ? Runnable::run : Answers.threads(),
        context.inbox()::wakeUp,
        context.log(),
        context.clocks());
    this.members = new Members(
        context.directory(),
        context.settings(),
        context.store().name(),
        context.precedence(),
        answers,
        context.log());
    this.backoff = new Backoff(node, this.members::count);
    PollSchedule polls = new PollSchedule(node, this.members::count);
    this.calls = new StoreCalls(context, node, candidates, polls, this.backoff, answers);
    this.holdBack = new HoldBack(
        context.precedence(),
        context.condition(),
        this.members,
        answers,
        context.settings(),
        context.log());
    this.agenda = new Agenda(context, node, candidates, this.backoff, this.holdBack, answers);
  }

  StoreCalls calls() {
    return this.calls;
  }

  Members members() {
    return this.members;
  }

  /** Waits until something is due and does what is most urgent, until it is over. */
  void run(BooleanSupplier isOver) {
    Daemon.repeat(
        () -> {
          if (isOver.getAsBoolean()) {
            return false;
          }
          long wait = this.pause;
          // Reset before the wait, so that it is 0 after a failure too.
          this.pause = 0;
          this.context.inbox().await(wait);
          this.pause = doMostUrgent();
          return true;
        },
        this.context.pauseAfterFailure(),
        this.context.log());
  }

  /**
   * Does everything that is due, without waiting.
   *
   * @return in how many nanoseconds something is due next
   */
  long doAllDue() {
    long pause = 0;
    // The limit grows with the number of elections, but no election can run forever.
    int most = MAX_CALLS * (this.candidates.size() + 1);
    for (int i = 0; !this.context.inbox().isEmpty() || (pause == 0 && i < most); i++) {
      pause = doMostUrgent();
    }
    answerRequest();
    return pause;
  }

  /**
   * Does one thing. In order of precedence: renewals, the consequences of the last request, the
   * next request, other due steps, background tasks.
   *
   * @return in how many nanoseconds something is due next; also 0 if more may be due at once
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
      runNextRequest();
      return 0;
    }
    return this.mayRunBackgroundTasks.getAsBoolean()
            && this.backoff.isOver(this.context.now())
            && runBackgroundTask()
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
  }

  /** Runs the next request; its consequences are due at once. */
  private void runNextRequest() {
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

  /** Runs one background task (history or members) with one call. Returns whether there was one. */
  private boolean runBackgroundTask() {
    return this.histories.runBackgroundTask(this.candidates)
        || this.members.runBackgroundTask(
            this.candidates, this.context.now(), this.holdBack.openSince());
  }

  /**
   * Closes the store.
   *
   * @param withdraws whether to delete this node's entry in the register first, unless the store
   *     fails
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
