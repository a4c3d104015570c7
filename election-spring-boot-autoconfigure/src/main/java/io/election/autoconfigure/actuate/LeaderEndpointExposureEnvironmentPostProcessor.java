package io.election.autoconfigure.actuate;

import java.util.Map;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.core.Ordered;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * Exposes the {@code leader} endpoint over HTTP beside health, unless the application specifies
 * which endpoints to expose.
 */
final class LeaderEndpointExposureEnvironmentPostProcessor
    implements EnvironmentPostProcessor, Ordered {

  private static final String INCLUDE = "management.endpoints.web.exposure.include";

  /** After all configuration has been read. */
  @Override
  public int getOrder() {
    return Ordered.LOWEST_PRECEDENCE;
  }

  @Override
  public void postProcessEnvironment(
      ConfigurableEnvironment environment, SpringApplication application) {
    Binder binder = Binder.get(environment);
    if (binder.bind("as.election.expose-endpoint", Bindable.of(boolean.class)).orElse(true)
        && !binder.bind(INCLUDE, Bindable.listOf(String.class)).isBound()) {
      // The default properties stay behind all other sources, including those that are added later.
      DefaultPropertiesPropertySource.addOrMerge(
          Map.of(INCLUDE, "health,leader"), environment.getPropertySources());
    }
  }
}
