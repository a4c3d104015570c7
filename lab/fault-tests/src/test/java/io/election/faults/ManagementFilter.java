package io.election.faults;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/**
 * Leaves a node without a web server without endpoints, metrics and JSON, which nothing could ask
 * for: they take a third of the processor time of its start.
 */
final class ManagementFilter implements AutoConfigurationImportFilter, EnvironmentAware {

  private static final String MANAGEMENT =
      ".*\\.(actuate|health|http|jackson|jmx|metrics|micrometer|servlet|tomcat|webmvc)\\..*";

  private boolean withoutWebServer;

  @Override
  public void setEnvironment(Environment environment) {
    this.withoutWebServer =
        "none".equals(environment.getProperty("spring.main.web-application-type"));
  }

  @Override
  public boolean[] match(
      @Nullable String[] candidates, AutoConfigurationMetadata autoConfigurationMetadata) {
    boolean[] matches = new boolean[candidates.length];
    for (int i = 0; i < candidates.length; i++) {
      String candidate = candidates[i];
      matches[i] = !this.withoutWebServer || candidate == null || !candidate.matches(MANAGEMENT);
    }
    return matches;
  }
}
