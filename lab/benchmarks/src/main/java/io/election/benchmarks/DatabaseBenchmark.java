package io.election.benchmarks;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A benchmark that needs a database: {@code -p url=jdbc:mysql://host/database -p username=…}, and
 * its password in the environment variable {@code SPRING_DATASOURCE_PASSWORD}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public abstract class DatabaseBenchmark {

  @Param("jdbc:mysql://localhost/benchmark")
  public String url = "";

  /** A user with all privileges there. */
  @Param("root")
  public String username = "";

  final String password =
      Objects.requireNonNullElse(System.getenv("SPRING_DATASOURCE_PASSWORD"), "");
}
