package io.election.benchmarks;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.store.MemoryLeaseStore;
import java.lang.reflect.Method;
import java.util.concurrent.TimeUnit;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;

/** Measures a leadership query and a guarded call, next to the clock reads that they consist of. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@SuppressWarnings("NullAway.Init")
public class LeadershipBenchmark {

  @Param({"true", "false"})
  public boolean leader;

  private ElectionService election;

  private ConfigurableApplicationContext context;

  private Job guarded;

  private Advised advised;

  private final Job plain = new Job();

  /** A job that is guarded if it is a bean. */
  public static class Job {

    private int runs;

    @LeaderOnly
    public void run() {
      this.runs++;
    }
  }

  /** A job whose proxy has advice that does nothing. */
  public static class Advised {

    private int runs;

    public void run() {
      this.runs++;
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({ElectionAutoConfiguration.class, LeaderOnlyAutoConfiguration.class})
  static class Application {

    @Bean
    MemoryLeaseStore memoryLeaseStore() {
      return new MemoryLeaseStore();
    }

    /** Spring builds the proxy as it does for a guarded bean. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static Advisor nothing() {
      return new StaticMethodMatcherPointcutAdvisor((MethodInterceptor) MethodInvocation::proceed) {
        @Override
        public boolean matches(Method method, Class<?> targetClass) {
          return targetClass == Advised.class && method.getName().equals("run");
        }
      };
    }
  }

  /** Starts a node that leads, or one that is not eligible. */
  @Setup(Level.Trial)
  public void start() {
    this.context = new SpringApplicationBuilder(Application.class, Job.class, Advised.class)
        .web(WebApplicationType.NONE)
        .run(
            "--spring.application.name=benchmark",
            "--spring.main.banner-mode=off",
            "--as.election.algorithm=Memory",
            // The node waits for a lease before it leads.
            "--as.election.lease-duration=3s",
            "--as.election.renew-interval=500ms",
            "--as.election.eligible=" + this.leader);
    this.guarded = this.context.getBean(Job.class);
    this.advised = this.context.getBean(Advised.class);
    this.election = this.context.getBean(ElectionService.class);
    while (this.election.isLeader() != this.leader) {
      Thread.onSpinWait();
    }
  }

  @TearDown(Level.Trial)
  public void stop() {
    this.context.close();
  }

  @Benchmark
  public long clockRead() {
    return System.nanoTime();
  }

  @Benchmark
  public boolean isLeader() {
    return this.election.isLeader();
  }

  @Benchmark
  public void leaderOnlyCall() {
    this.guarded.run();
  }

  @Benchmark
  public void emptyAdviceCall() {
    this.advised.run();
  }

  @Benchmark
  public void plainCall() {
    this.plain.run();
  }
}
