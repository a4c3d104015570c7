package io.election.autoconfigure.leaderonly;

import io.election.LeaderTask;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;

/** The life cycle of a {@link LeaderTask}, which never ends by itself. */
final class LeaderTaskLifecycle implements Lifecycle {

  private final LeaderTask task;

  private volatile @Nullable AutoCloseable running;

  LeaderTaskLifecycle(LeaderTask task) {
    this.task = task;
  }

  @Override
  public void start() {
    try {
      this.running = Objects.requireNonNull(this.task.start(), "the task returned null");
    } catch (Exception ex) {
      throw ex instanceof RuntimeException runtime ? runtime : new IllegalStateException(ex);
    }
  }

  @Override
  public void stop() {
    AutoCloseable running = this.running;
    this.running = null;
    try {
      if (running != null) {
        running.close();
      }
    } catch (Exception ex) {
      throw ex instanceof RuntimeException runtime ? runtime : new IllegalStateException(ex);
    }
  }

  @Override
  public boolean isRunning() {
    return this.running != null;
  }
}
