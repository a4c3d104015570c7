package io.election.lease;

import io.election.lease.LeaseStore.Reading;
import io.election.lease.SimulatedDatabase.Snapshot;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The server and the network to it: requests may be late or lost, and reads may lag. */
final class SimulatedServer {

  /** A request of a process to the server. */
  record Wish(SimulatedProcess process, Supplier<String> what, boolean toRead) {

    @Override
    public String toString() {
      return this.process + " asks " + this.what.get();
    }
  }

  /** An operation on the server. */
  @FunctionalInterface
  interface Statement {
    Object execute() throws LeaseStoreException;
  }

  /** A request, starting before it is sent. */
  static final class Request {
    boolean executed;
    boolean over;

    @Nullable
    Object outcome;

    boolean answerLost;
    long answerAt;
    long giveUpAt;
  }

  private record Dated(long at, Snapshot snapshot) {}

  private final Simulation simulation;

  private final Deque<Dated> past = new ArrayDeque<>();

  SimulatedServer(Simulation simulation) {
    this.simulation = simulation;
  }

  Object serve(Statement statement, Wish wish) throws LeaseStoreException {
    this.simulation.tally.calls++;
    Object outcome = statement.execute();
    this.simulation.raceLost |= outcome instanceof OptionalLong term && term.isEmpty();
    remember();
    if (this.simulation.tracing && !wish.toRead()) {
      this.simulation.tell(
          "    the server does it: %s -> %s".formatted(wish, Story.outcome(outcome)));
    }
    return outcome;
  }

  void remember() {
    this.past.addLast(
        new Dated(this.simulation.now, this.simulation.database.snapshot(Sent.SERVICE)));
    long kept = Math.max(2 * this.simulation.lag, 2 * this.simulation.longestLease);
    while (this.past.size() > 1 && this.past.getFirst().at() < this.simulation.now - kept) {
      this.past.removeFirst();
    }
  }

  /** The result of a read, possibly from a replica that lags. */
  Optional<Reading> look(SimulatedProcess process) throws LeaseStoreException {
    if (this.simulation.lag > 0 && this.simulation.faulty && this.simulation.draw(3) > 0) {
      LeaseRow row = this.simulation.database.row(Sent.SERVICE, process.token);
      long then = this.simulation.now - this.simulation.random.nextLong(this.simulation.lag);
      for (Dated dated : this.past) {
        if (dated.at() > then) {
          break;
        }
        row = dated.snapshot().row(process.token);
      }
      return Optional.ofNullable(row)
          .map((found) -> new Reading(found, this.simulation.database.age(found)));
    }
    return Optional.ofNullable(process.server.read(Set.of(Sent.SERVICE)).get(Sent.SERVICE));
  }

  /** Sends a request and draws its fate. */
  Request send(SimulatedProcess process, Statement statement, Wish wish) {
    Request request = new Request();
    request.giveUpAt = process.trueTime(
        process.monotonic() + process.settings.operationTimeout().toNanos());
    long there = this.simulation.now + latency(process);
    boolean sent = true;
    if (this.simulation.faulty) {
      double fate = this.simulation.random.nextDouble();
      if (process.requestsCut || fate < this.simulation.loss / 2) {
        sent = false;
      } else if (process.answersCut || fate < this.simulation.loss) {
        request.answerLost = true;
      }
      if (this.simulation.random.nextDouble() < this.simulation.late && there < request.giveUpAt) {
        there =
            request.giveUpAt + this.simulation.random.nextLong(3 * this.simulation.longestLease);
        this.simulation.lasts(there);
        this.simulation.tally.late++;
      }
      if (request.answerLost && this.simulation.draw(2) == 0) {
        // A broken connection is noticed sooner than a silent one.
        request.giveUpAt = this.simulation.now
            + this.simulation.random.nextLong(request.giveUpAt - this.simulation.now);
      }
    }
    request.answerAt = there + latency(process);
    if (sent) {
      this.simulation.at(there, () -> arrive(request, statement, wish));
    }
    return request;
  }

  private void arrive(Request request, Statement statement, Wish wish) {
    if (this.simulation.now < this.simulation.databaseBackAt) {
      long resumed = this.simulation.databaseBackAt + this.simulation.draw(3) * Simulation.MILLI;
      this.simulation.lasts(resumed);
      this.simulation.at(resumed, () -> arrive(request, statement, wish));
      return;
    }
    try {
      request.outcome = serve(statement, wish);
      request.executed = true;
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  long latency(SimulatedProcess process) {
    if (this.simulation.faulty && this.simulation.random.nextDouble() < this.simulation.slow) {
      return this.simulation.random.nextLong(
          process.settings.operationTimeout().toNanos() * 6 / 10);
    }
    return this.simulation.draw(4) == 0 ? 0 : this.simulation.random.nextLong(3 * Simulation.MILLI);
  }

  /** The former states of the row, the oldest first. */
  List<Snapshot> past() {
    return this.past.stream().map(Dated::snapshot).toList();
  }
}
