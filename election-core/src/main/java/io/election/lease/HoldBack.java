package io.election.lease;

import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.lease.State.Follower;
import io.election.store.LeadershipCondition;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Tracks the elections that are open to a node, and asks its {@link Precedence} whether to stand. Used
 * by the elector's thread.
 */
final class HoldBack {

  private static final String ASIDE = "this node stands aside until it answers: mend that bean";

  private static final Turn NO_ANSWER = Turn.standAside("there is no answer");

  private final Precedence precedence;

  private final @Nullable LeadershipCondition condition;

  private final Members members;

  private final Answers answers;

  private final long timeout;

  private final ElectionLog log;

  /** Names in log lines whom this node asks before it leads. */
  private final String asked;

  /** The questions that are not answered yet, or whose answer nobody has read. */
  private final Map<String, Question> questions = new HashMap<>();

  /** Since when elections have been open, by the ticker. */
  private final Map<String, Long> since = new HashMap<>();

  /** The last answers about these elections. */
  private final Map<String, Turn> turns = new HashMap<>();

  /**
   * A question to the precedence.
   *
   * @param opensAt since when the election has been open that it is about
   * @param askedAt when it was asked
   */
  private record Question(long opensAt, long askedAt, CompletableFuture<Turn> answer) {}

  HoldBack(
      Precedence precedence,
      @Nullable LeadershipCondition condition,
      Members members,
      Answers answers,
      LeaseSettings settings,
      ElectionLog log) {
    this.precedence = precedence;
    this.condition = condition;
    this.members = members;
    this.answers = answers;
    this.timeout = settings.operationTimeout().toNanos();
    this.log = log;
    List<String> asked = new ArrayList<>();
    if (condition != null) {
      asked.add("a part of the list that is no store");
    }
    if (precedence != Precedence.NONE) {
      asked.add("the Precedence of this node");
    }
    this.asked = String.join(", or ", asked);
  }

  /**
   * Returns for how long a node must not take the step of its candidacy. A follower that may try
   * for the record asks its precedence; a node that has begun to claim the record continues.
   *
   * @return a time in nanoseconds; 0 if it may take the step, {@link Long#MAX_VALUE} if it stands
   *     aside
   */
  long holdBack(Candidacy candidacy, String serviceId, long now) {
    if ((this.precedence == Precedence.NONE && this.condition == null)
        || !(candidacy.state() instanceof Follower)) {
      return 0;
    }
    long opensAt = candidacy.opensAt().orElse(now);
    this.since.put(serviceId, opensAt);
    Question question = this.questions.get(serviceId);
    if (question == null || isOutdated(question, opensAt, now)) {
      question = new Question(opensAt, now, ask(candidacy, serviceId, opensAt, now));
      this.questions.put(serviceId, question);
    }
    if (!question.answer().isDone()) {
      if (isLate(question, now)) {
        this.answers.late(serviceId, this.asked, ASIDE);
      }
      return Long.MAX_VALUE;
    }
    this.questions.remove(serviceId);
    Turn turn = question.answer().join();
    if (turn.equals(NO_ANSWER)) {
      return Long.MAX_VALUE;
    }
    if (!turn.equals(this.turns.put(serviceId, turn)) && turn.kind() != Precedence.Kind.AT_ONCE) {
      this.log.standsLater(serviceId, candidacy.node().id(), turn);
    }
    return switch (turn.kind()) {
      case AT_ONCE -> 0;
      case HOLD_BACK -> Math.max(turn.time().toNanos() - (now - opensAt), 0);
      case ASIDE -> Long.MAX_VALUE;
    };
  }

  /** Returns whether an answer has come that says nothing about this instant. */
  private boolean isOutdated(Question question, long opensAt, long now) {
    return question.answer().isDone() && (question.opensAt() != opensAt || isLate(question, now));
  }

  private boolean isLate(Question question, long now) {
    return now - question.askedAt() > this.timeout;
  }

  private CompletableFuture<Turn> ask(
      Candidacy candidacy, String serviceId, long opensAt, long now) {
    Observation seen = candidacy.seen();
    LeaseRow row = seen != null ? seen.row() : null;
    OpenElection opening = new OpenElection(
        serviceId,
        Duration.ofNanos(now - opensAt),
        row != null
            && row.isReleased()
            && row.leaderId().equals(candidacy.node().id()),
        this.members.readSince(serviceId, opensAt));
    return this.answers.askLater(serviceId, this.asked, () -> turn(opening), NO_ANSWER, ASIDE);
  }

  private Turn turn(OpenElection opening) {
    String obstacle = this.condition != null ? this.condition.stand(opening.serviceId()) : "";
    return obstacle.isEmpty() ? this.precedence.turn(opening) : Turn.standAside(obstacle);
  }

  /** Forgets an election that is not open to this node. One that must be read again may be. */
  void closeUnlessOpen(Candidacy candidacy, String serviceId, long now) {
    OptionalLong opensAt = candidacy.opensAt();
    boolean unread = candidacy.state() instanceof Follower && opensAt.isEmpty();
    if (!unread && !candidacy.isOpen(now)) {
      this.since.remove(serviceId);
      this.turns.remove(serviceId);
    }
  }

  /** Returns since when the election has been open that opened last; empty if none is open. */
  OptionalLong openSince() {
    return this.since.values().stream()
        .mapToLong(Long::longValue)
        .reduce((first, second) -> first - second > 0 ? first : second);
  }
}
