package io.election.autoconfigure;

import java.util.concurrent.atomic.AtomicReference;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.test.context.runner.AbstractApplicationContextRunner;
import org.springframework.core.env.Environment;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.ArgumentResolver;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;

/** The text that Spring Boot would print about a failed start. */
public final class StartFailure {

  private StartFailure() {}

  public static String text(AbstractApplicationContextRunner<?, ?, ?> runner) {
    AtomicReference<Environment> environment = new AtomicReference<>();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    runner
        .withInitializer((context) -> environment.set(context.getEnvironment()))
        .run((context) -> failure.set(context.getStartupFailure()));
    if (failure.get() == null) {
      throw new AssertionError("The context started");
    }
    return text(failure.get(), environment.get());
  }

  public static String text(Throwable failure, Environment environment) {
    ArgumentResolver arguments = ArgumentResolver.of(Environment.class, environment)
        .and(BeanFactory.class, new DefaultListableBeanFactory());
    for (FailureAnalyzer analyzer : SpringFactoriesLoader.forDefaultResourceLocation()
        .load(
            FailureAnalyzer.class,
            arguments,
            FailureHandler.handleMessage((message, cause) -> {}))) {
      FailureAnalysis analysis = analyzer.analyze(failure);
      if (analysis != null) {
        return analysis.getDescription() + "\nAction: " + analysis.getAction();
      }
    }
    throw new AssertionError("No analysis", failure);
  }
}
