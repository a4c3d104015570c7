package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.NodeProcess;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class DaemonTest {

  /** A process whose other threads, like those of an elector, would go on. */
  static final class Program {

    private Program() {}

    public static void main(String[] arguments) {
      new Thread(LockSupport::park, "elector").start();
      VitalThread.vital("failover-agent", () -> {
            throw new OutOfMemoryError("thrown by the test");
          })
          .start();
    }
  }

  @Test
  void anErrorEndsTheProcess() throws Exception {
    Process process = new ProcessBuilder(
            ProcessHandle.current().info().command().orElseThrow(),
            "-cp",
            NodeProcess.classPath(),
            Program.class.getName())
        .inheritIO()
        .start();
    try {
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(VitalThread.FAILED);
    } finally {
      process.destroyForcibly();
    }
  }
}
