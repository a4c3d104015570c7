package io.election.playground;

import io.election.playground.Member.Cut;
import io.election.playground.Member.State;
import java.io.File;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The actions of a visitor on the nodes and the database. Thread-safe. */
final class Actions {

  private static final String DATABASE = "database";

  private static final String OPERATORS = "endpoint.md#the-endpoint";

  private static final String NO_LEASE_AFTER_DEADLINE =
      "There are never two leaders: the others wait until the lease has ended, and a leader stops by its own clock before that.";

  private static final boolean SIGNALS = File.separatorChar == '/';

  private static final String NO_SIGNALS = "Signals to processes need a Unix";

  private final Playground playground;

  Actions(Playground playground) {
    this.playground = playground;
  }

  /** A button; {@code reason} says why it is off. */
  record Action(
      String target,
      String action,
      String label,
      String explanation,
      boolean enabled,
      @Nullable String reason,
      @Nullable Integer seconds,
      @Nullable String value) {}

  /** A request of a visitor. */
  record Wish(
      @Nullable String target,
      @Nullable String action,
      @Nullable Integer seconds,
      @Nullable String value) {}

  /** Says why something cannot be done. */
  static final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1;

    RefusedException(String message) {
      super(message);
    }
  }

  /** All buttons. */
  List<Action> all() {
    List<Action> actions = new ArrayList<>();
    playground.members().forEach((member) -> addOf(member, actions));
    Database database = playground.database();
    if (database != null) {
      addOf(database, actions);
    }
    return actions;
  }

  private static void addOf(Member member, List<Action> actions) {
    State state = member.state();
    boolean there = state == State.RUNNING || state == State.STARTING || state == State.PAUSED;
    boolean runs = state == State.RUNNING;
    String name = member.name();
    String unlessRuns = name + " is " + state.text();
    add(
        actions,
        name,
        "kill",
        "kill -9",
        there && SIGNALS,
        SIGNALS ? unlessRuns : NO_SIGNALS,
        null,
        "The process ends at once and hands nothing back. If it leads, another node leads when its lease has ended. "
            + NO_LEASE_AFTER_DEADLINE);
    add(
        actions,
        name,
        "start",
        "Start",
        !there,
        name + " runs",
        null,
        "The process starts again. It follows if another node leads. There are never two leaders: a process that starts holds no lease.");
    add(
        actions,
        name,
        "stop",
        "Stop",
        runs && SIGNALS,
        SIGNALS ? unlessRuns : NO_SIGNALS,
        null,
        "The node ends cleanly. If it leads, it waits for its running job, then hands the lease back, and another node leads at once. There are never two leaders: the lease is handed back after the node has stopped leading.");
    add(
        actions,
        name,
        "pause",
        "Pause",
        runs && SIGNALS,
        SIGNALS ? unlessRuns : NO_SIGNALS,
        8,
        "SIGSTOP freezes the process for this time, like a long garbage collection. If it leads and its lease ends meanwhile, another node leads. There are never two leaders: when it wakes up, isLeader() compares the clock with the deadline first and says no.");
    add(
        actions,
        name,
        "resume",
        "Resume",
        state == State.PAUSED,
        name + " is not paused",
        null,
        "SIGCONT wakes the process. There are never two leaders: if its lease has ended, it says no at its first question.");
    add(
        actions,
        name,
        "cut-both",
        "Cut off",
        there && member.cut() == Cut.NONE,
        name + " does not run or is cut off",
        null,
        "The link to the database loses everything in both directions. If the node leads, it stops when its lease ends by its own clock, and another node leads after that. "
            + NO_LEASE_AFTER_DEADLINE);
    add(
        actions,
        name,
        "cut-answers",
        "Lose answers",
        there && member.cut() == Cut.NONE,
        name + " does not run or is cut off",
        null,
        "Statements reach the database, and their answers are lost. A node counts only what was answered, so its deadline does not move. There are never two leaders: the database may think that the lease is longer than the node does, never shorter.");
    add(
        actions,
        name,
        "heal",
        "Heal",
        member.cut() != Cut.NONE,
        name + " is not cut off",
        null,
        "The link works again, and what was held arrives late. There are never two leaders: a late statement finds that the version of the record has changed, and does nothing.");
    add(
        actions,
        name,
        "lead",
        "Make leader",
        runs && !member.leads() && !member.isAside(),
        name + " does not run, leads already or stands aside",
        null,
        "The leader hands over to this node. There are never two leaders: the leader stops first.");
    add(
        actions,
        name,
        "aside",
        "Stand aside",
        runs && !member.isAside(),
        name + " does not run or stands aside",
        null,
        "The node no longer stands for election. If it leads, it hands the lease back. There are never two leaders: it stops leading first.");
    add(
        actions,
        name,
        "back",
        "Back",
        runs && member.isAside(),
        name + " does not stand aside",
        null,
        "The node stands for election again. There are never two leaders: it waits like every other node.");
  }

  private void addOf(Database database, List<Action> actions) {
    String state = playground.databaseState();
    boolean runs = state.equals("running");
    String without = database.withoutProcess();
    String unlessRuns = without != null ? without : "The database is " + state;
    boolean power = without == null;
    add(
        actions,
        DATABASE,
        "pause",
        "Pause",
        power && runs,
        unlessRuns,
        8,
        "The database accepts connections and answers nothing. The leader stops when its lease ends by its own clock; no node leads until the database answers. There are never two leaders: without an answer no lease begins and none grows.");
    add(
        actions,
        DATABASE,
        "resume",
        "Resume",
        power && state.equals("paused"),
        without != null ? without : "The database is not paused",
        null,
        "The database answers again. There are never two leaders: the statements that it held are late and find another version of the record.");
    add(
        actions,
        DATABASE,
        "restart",
        "Restart",
        power && runs,
        unlessRuns,
        null,
        "The database stops and starts. If that is quicker than the lease, the leader continues to lead. There are never two leaders: the record outlives the restart.");
    add(
        actions,
        DATABASE,
        "kill",
        "kill -9",
        power && (runs || state.equals("paused")),
        unlessRuns,
        null,
        "The database dies. The leader stops when its lease ends by its own clock. There are never two leaders: what the database has acknowledged is on its disk.");
    add(
        actions,
        DATABASE,
        "start",
        "Start",
        power && state.equals("stopped"),
        without != null ? without : "The database runs",
        null,
        "The database recovers what it had acknowledged. There are never two leaders: the record is as it was.");
    add(
        actions,
        DATABASE,
        "delete-row",
        "Delete the row",
        runs,
        unlessRuns,
        null,
        "The record disappears. There are never two leaders: a node that creates it again waits for a whole lease first, and its term is higher.");
    actions.add(new Action(
        DATABASE,
        "edit-row",
        "Edit the row",
        "leader_id gets this value by hand. The leader sees at its next renewal that the record is not its own, and stops; a designated node takes over when the leader has stopped. There are never two leaders: the designated node waits for the lease, or for the release by the old leader.",
        runs,
        runs ? null : unlessRuns,
        null,
        "node-2"));
    add(
        actions,
        DATABASE,
        "lock-row",
        "Lock the row",
        runs,
        unlessRuns,
        8,
        "A transaction locks the record for this time, so the leader cannot renew its lease. The leader stops when its lease ends by its own clock. There are never two leaders: a renewal that the database did not confirm extends nothing.");
  }

  private static void add(
      List<Action> actions,
      String target,
      String action,
      String label,
      boolean enabled,
      String reason,
      @Nullable Integer seconds,
      String explanation) {
    actions.add(new Action(
        target, action, label, explanation, enabled, enabled ? null : reason, seconds, null));
  }

  /**
   * Does what a visitor wants; returns what was done.
   *
   * @throws RefusedException if it is not possible now
   * @throws IllegalArgumentException if there is no such button
   */
  synchronized String act(Wish wish) {
    Action action = all().stream()
        .filter(
            (each) -> each.target().equals(wish.target()) && each.action().equals(wish.action()))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("There is no such action"));
    if (!action.enabled()) {
      throw new RefusedException(Objects.requireNonNullElse(action.reason(), "Not now"));
    }
    Integer wanted = wish.seconds() != null ? wish.seconds() : action.seconds();
    int seconds = wanted != null ? wanted : 0;
    if (seconds < 0 || seconds > 600) {
      throw new IllegalArgumentException("The time must be from 0 to 600 seconds");
    }
    Duration time = Duration.ofSeconds(seconds);
    Member member = playground.member(action.target());
    if (member != null) {
      act(member, action.action(), time);
    } else {
      String value = wish.value() != null ? wish.value() : action.value();
      act(Objects.requireNonNull(playground.database()), action.action(), time, "" + value);
    }
    return action.target() + ": done";
  }

  private void act(Member member, String action, Duration time) {
    String name = member.name();
    Timeline timeline = playground.timeline();
    switch (action) {
      case "kill" -> {
        playground.happens(name, "kill", "was killed", false);
        timeline.endMarks(name, "pause", System.nanoTime());
        member.kill();
      }
      case "stop" -> {
        playground.happens(name, "stop", "was stopped", false);
        playground.inBackground("The stop of " + name, member::stop);
      }
      case "pause" -> {
        playground.happens(name, "pause", "was paused", true);
        member.pause();
        playground.later(time, "The wake-up of " + name, () -> wake(member));
      }
      case "resume" -> wake(member);
      case "cut-both", "cut-answers" -> {
        boolean both = action.equals("cut-both");
        playground.happens(
            name, action, both ? "was cut off from the database" : "got no more answers", true);
        member.cut(both ? Cut.BOTH : Cut.ANSWERS);
      }
      case "heal" -> {
        member.heal();
        playground.ends(name, "cut", name + " reaches the database again");
      }
      case "start" -> {
        member.start();
        playground.list(member);
        long now = System.nanoTime();
        timeline.mark(name, "start", now, now, "started");
        timeline.tell("info", name + " was started again", "kubernetes.md#rolling-restart");
      }
      case "lead" -> {
        timeline.tell("change", name + " was asked to lead", OPERATORS);
        playground.inBackground("The request to " + name, member::lead);
      }
      case "aside" -> {
        playground.happens(name, "aside", "was asked to stand aside", false);
        playground.inBackground("The request to " + name, () -> member.standAside(true));
      }
      case "back" -> {
        timeline.tell("info", name + " was asked to stand for election again", OPERATORS);
        playground.inBackground("The request to " + name, () -> member.standAside(false));
      }
      default -> throw new IllegalArgumentException("There is no such action");
    }
  }

  private void wake(Member member) {
    if (member.state() == State.PAUSED) {
      playground.wakes(member.name());
      member.resume();
    }
  }

  private void act(Database database, String action, Duration time, String value) {
    switch (action) {
      case "pause" -> {
        playground.happens(DATABASE, "pause", "was paused", true);
        playground.databaseState("paused");
        database.pause();
        playground.later(time, "The wake-up of the database", () -> wake(database));
      }
      case "resume" -> wake(database);
      case "restart" -> {
        playground.happens(DATABASE, "stop", "was restarted", false);
        playground.databaseState("restarting");
        playground.inBackground("The restart of the database", () -> {
          database.stop();
          start(database);
        });
      }
      case "kill" -> {
        playground.happens(DATABASE, "kill", "was killed", false);
        playground.timeline().endMarks(DATABASE, "pause", System.nanoTime());
        playground.databaseState("stopped");
        database.kill();
      }
      case "start" -> {
        playground.databaseState("starting");
        playground.inBackground("The start of the database", () -> start(database));
      }
      case "delete-row" -> {
        playground.happens(DATABASE, "row", "has lost the record, which a visitor deleted", false);
        playground.inBackground("The deletion", () -> database.delete(Playground.SERVICE));
      }
      case "edit-row" -> {
        playground.happens(DATABASE, "row", "got another leader_id by hand", false);
        playground.inBackground("The change", () -> database.edit(Playground.SERVICE, value));
      }
      case "lock-row" ->
        playground.inBackground("The lock", () -> {
          Connection lock = database.lock(Playground.SERVICE);
          playground.happens(DATABASE, "lock", "has a locked record", true);
          playground.later(time, "The end of the lock", () -> unlock(lock));
        });
      default -> throw new IllegalArgumentException("There is no such action");
    }
  }

  private void unlock(Connection lock) {
    try (lock) {
      lock.rollback();
    } catch (SQLException ex) {
      // the database has ended the transaction already
    }
    playground.ends(DATABASE, "lock", "The record is no longer locked");
  }

  private void wake(Database database) {
    if (playground.databaseState().equals("paused")) {
      database.resume();
      playground.databaseState("running");
      playground.ends(DATABASE, "pause", "The database answers again");
    }
  }

  private void start(Database database) {
    try {
      database.start();
      playground.list(database);
      playground.databaseState("running");
      playground.timeline().tell("info", "The database runs again", "reliability.md#faults");
    } catch (RuntimeException ex) {
      playground.databaseState("stopped");
      throw ex;
    }
  }
}
