package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.env.DefaultPropertiesPropertySource;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

class LeaderEndpointExposureEnvironmentPostProcessorTest {

  private static final String INCLUDE = "management.endpoints.web.exposure.include";

  private final StandardEnvironment environment = new StandardEnvironment();

  @Test
  void endpointIsExposedBesideHealth() {
    assertThat(included()).isEqualTo("health,leader");
    assertThat(this.environment.getProperty("management.endpoints.jmx.exposure.include"))
        .isNull();
  }

  @Test
  void otherDefaultPropertiesStay() {
    DefaultPropertiesPropertySource.addOrMerge(
        Map.of("other", "value"), this.environment.getPropertySources());
    assertThat(included()).isEqualTo("health,leader");
    assertThat(this.environment.getProperty("other")).isEqualTo("value");
  }

  @ParameterizedTest
  @ValueSource(strings = {INCLUDE, INCLUDE + "[0]", "MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE"})
  void applicationsOwnChoiceWins(String name) {
    add(name, "info");
    assertThat(included()).isEqualTo("info");
  }

  @Test
  void applicationsOwnDefaultWins() {
    DefaultPropertiesPropertySource.addOrMerge(
        Map.of(INCLUDE, "info"), this.environment.getPropertySources());
    assertThat(included()).isEqualTo("info");
  }

  @Test
  void propertySourceThatComesLaterWins() {
    new LeaderEndpointExposureEnvironmentPostProcessor()
        .postProcessEnvironment(this.environment, new SpringApplication());
    this.environment
        .getPropertySources()
        .addLast(new MapPropertySource("later", Map.of(INCLUDE, "info")));
    // Spring Boot does this when it has read all configuration classes.
    DefaultPropertiesPropertySource.moveToEnd(this.environment);
    assertThat(this.environment.getProperty(INCLUDE)).isEqualTo("info");
  }

  private void add(String name, String value) {
    PropertySource<?> source = name.contains(".")
        ? new MapPropertySource("test", Map.of(name, value))
        : new SystemEnvironmentPropertySource("test-systemEnvironment", Map.of(name, value));
    this.environment.getPropertySources().addFirst(source);
  }

  private String included() {
    new LeaderEndpointExposureEnvironmentPostProcessor()
        .postProcessEnvironment(this.environment, new SpringApplication());
    return Binder.get(this.environment)
        .bind(INCLUDE, String[].class)
        .map((values) -> String.join(",", values))
        .orElse(null);
  }
}
