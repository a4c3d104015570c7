package io.election.autoconfigure.leaderonly;

import io.election.LeaderTask;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;
import org.springframework.util.function.ThrowingConsumer;
import org.springframework.util.function.ThrowingSupplier;

/** The life cycle of a {@link LeaderTask}, which never ends by itself. */
final class LeaderTaskLifecycle implements Lifecycle {

  private final LeaderTask task;

  private volatile @Nullable AutoCloseable running;

  LeaderTaskLifecycle(LeaderTask task) {
    this.task = task;
  }

  @Override
  public void start() {
    this.running = Objects.requireNonNull(
        ThrowingSupplier.of(this.task::start, (message, ex) -> new IllegalStateException(ex))
            .get(),
        "the task returned null");
  }

  @Override
  public void stop() {
    AutoCloseable running = this.running;
    if (running != null) {
      ThrowingConsumer.of(AutoCloseable::close, IllegalStateException::new).accept(running);
      this.running = null;
    }
  }

  @Override
  public boolean isRunning() {
    return this.running != null;
  }
}
