package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.embedded.MariaDbPrograms;
import io.election.test.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the embedded server, which tests use without Docker. */
class EmbeddedServerIT {

  private static final int PROCESSES = 2;

  private static final int THREADS = 2;

  /** The test classes of the first build on a machine start like this. */
  @Test
  void threadsAndProcessesThatStartAtOnceAllGetAServer(@TempDir Path empty) throws Exception {
    assumeTrue(MariaDbPrograms.existForThisPlatform(), "no embedded server for this platform");
    List<Process> processes = new ArrayList<>();
    try {
      for (int i = 0; i < PROCESSES; i++) {
        processes.add(new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djava.io.tmpdir=" + empty,
                "-cp",
                NodeProcess.classPath(),
                EmbeddedServerIT.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(empty.resolve("output-" + i).toFile())
            .start());
      }
      for (int i = 0; i < PROCESSES; i++) {
        assertThat(processes.get(i).waitFor(3, TimeUnit.MINUTES)).as("it ended").isTrue();
        assertThat(processes.get(i).exitValue())
            .as(Files.readString(empty.resolve("output-" + i)))
            .isZero();
      }
    } finally {
      processes.forEach(Process::destroy);
    }
  }

  /** Starts servers from several threads at once, and queries each for its version. */
  public static void main(String... arguments) throws Exception {
    CyclicBarrier ready = new CyclicBarrier(THREADS);
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    Callable<String> start = () -> {
      ready.await();
      try (TestServer server = EmbeddedServer.launch()) {
        return server.version();
      }
    };
    for (Future<String> version : threads.invokeAll(Collections.nCopies(THREADS, start))) {
      System.out.println(version.get());
    }
    threads.shutdown();
  }
}
