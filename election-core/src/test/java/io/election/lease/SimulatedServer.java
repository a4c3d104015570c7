package io.election.lease;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase.Snapshot;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The server and the network to it: requests may be late or lost, and reads may lag. */
public final class SimulatedServer {

  record Wish(SimulatedProcess process, Supplier<String> what, boolean toRead) {}

  /** What the server does with a request. */
  @FunctionalInterface
  public interface Statement {

    /** Returns the answer; {@code null} if the request was lost. */
    @Nullable
    Object execute() throws LeaseStoreException;
  }

  /** A request, starting before it is sent. */
  static final class Request {
    boolean over;

    @Nullable
    Object outcome;

    boolean answerLost;
    long answerAt;
    long giveUpAt;

    /** The answer, if it arrives before the sender gives up. */
    @Nullable
    Object answer() {
      return this.answerLost || this.answerAt > this.giveUpAt ? null : this.outcome;
    }
  }

  private record Dated(long at, Snapshot snapshot) {}

  private final Simulation world;

  private final Deque<Dated> past = new ArrayDeque<>();

  SimulatedServer(Simulation world) {
    this.world = world;
  }

  private @Nullable Object serve(Statement statement, Wish wish) throws LeaseStoreException {
    this.world.tally.calls++;
    Object outcome = statement.execute();
    this.world.raceLost |= outcome instanceof OptionalLong term && term.isEmpty();
    remember();
    if (!wish.toRead()) {
      this.world.tell("    the server does for", wish.process(), wish.what(), "->", outcome);
    }
    return outcome;
  }

  void remember() {
    this.past.addLast(new Dated(this.world.now, this.world.database.snapshot(Sent.SERVICE)));
    long kept = Math.max(2 * this.world.lag, 2 * this.world.longestLease);
    while (this.past.size() > 1 && this.past.getFirst().at() < this.world.now - kept) {
      this.past.removeFirst();
    }
  }

  /** The result of a read, possibly from a replica that lags. */
  Object inspect(SimulatedProcess process) throws LeaseStoreException {
    long then = this.world.asOf();
    if (then < this.world.now) {
      LeaseRow row = this.world.database.row(Sent.SERVICE, process.token);
      for (Dated dated : this.past) {
        if (dated.at() > then) {
          break;
        }
        row = dated.snapshot().row(process.token);
      }
      return Optional.ofNullable(row)
          .map((found) -> new Reading(found, this.world.database.age(found)));
    }
    return this.world.rules.execute(Sent.READ, process.access);
  }

  Request send(SimulatedProcess process, Statement statement, Wish wish) {
    Request request = new Request();
    request.giveUpAt = process.trueTime(
        process.monotonic() + process.settings.operationTimeout().toNanos());
    long there = this.world.now + latency(process);
    boolean sent = true;
    if (this.world.faulty) {
      double fate = this.world.random.nextDouble();
      if (process.requestsCut || fate < this.world.loss / 2) {
        sent = false;
      } else if (process.answersCut || fate < this.world.loss) {
        request.answerLost = true;
      }
      if (this.world.random.nextDouble() < this.world.late && there < request.giveUpAt) {
        there = request.giveUpAt + this.world.random.nextLong(3 * this.world.longestLease);
        this.world.lasts(there);
        this.world.tally.late++;
      }
      if (request.answerLost && this.world.draw(2) == 0) {
        // A broken connection is noticed sooner than a silent one.
        request.giveUpAt =
            this.world.now + this.world.random.nextLong(request.giveUpAt - this.world.now);
      }
    }
    request.answerAt = there + latency(process);
    if (sent) {
      this.world.at(there, () -> arrive(request, statement, wish));
    }
    return request;
  }

  private void arrive(Request request, Statement statement, Wish wish) {
    if (this.world.now < this.world.databaseBackAt) {
      long resumed = this.world.databaseBackAt + this.world.draw(3) * Simulation.MILLI;
      this.world.lasts(resumed);
      this.world.at(resumed, () -> arrive(request, statement, wish));
      return;
    }
    try {
      request.outcome = serve(statement, wish);
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  long latency(SimulatedProcess process) {
    if (this.world.faulty && this.world.random.nextDouble() < this.world.slow) {
      return this.world.random.nextLong(process.settings.operationTimeout().toNanos() * 6 / 10);
    }
    return this.world.draw(4) == 0 ? 0 : this.world.random.nextLong(3 * Simulation.MILLI);
  }

  List<Snapshot> past() {
    return this.past.stream().map(Dated::snapshot).toList();
  }
}
