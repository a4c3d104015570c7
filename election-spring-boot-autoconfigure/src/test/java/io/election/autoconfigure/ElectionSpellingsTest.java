package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.commitfence.FencedDatabases;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.ElectionProperties.Jdbc.SchemaMode;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** The application follows the bound value of a switch or a choice, however it is spelled. */
class ElectionSpellingsTest {

  private static final String PREFIX = "as.election.";

  /** Conditions that compare text misread the first of each. */
  private static final List<String> ON = List.of("on", "TRUE", "1");

  private static final List<String> OFF = List.of("off", "FALSE", "0");

  /** The effects in the application that show whether a switch is on. */
  private static final Map<String, Predicate<AssertableApplicationContext>> EFFECTS = Map.of(
      "enabled",
      (context) -> context.getBean(ElectionService.class) instanceof LeaseElectionService,
      "expose-endpoint",
      (context) ->
          context.getEnvironment().getProperty("management.endpoints.web.exposure.include") != null,
      "eligible",
      (context) -> context.getBean(LeaseSettings.class).eligible(),
      "integration-events",
      (context) -> context.getBean(ElectionProperties.class).integrationEvents(),
      "fail-fast",
      (context) -> context.getStartupFailure() != null,
      "mysql.commit-fence",
      (context) -> !context.getBean(FencedDatabases.class).fenced().isEmpty(),
      "mysql.hand-back-signals",
      (context) -> context.getBean(ElectionProperties.class).mysql().handBackSignals());

  /** Runs without a server: the node starts as a follower. */
  private final ApplicationContextRunner mysql = new ApplicationContextRunner()
      .withConfiguration(MysqlNode.STARTER)
      .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
      .withPropertyValues(
          "spring.application.name=billing",
          "spring.datasource.url=jdbc:mysql://127.0.0.1:1/billing",
          "as.election.manual.leader-id=node-1",
          "as.election.node-id=node-1");

  @Test
  void everySwitchAndEveryChoiceIsTried() {
    assertThat(properties(boolean.class)).containsExactlyInAnyOrderElementsOf(EFFECTS.keySet());
    assertThat(properties(SchemaMode.class)).containsExactly("mysql.schema");
    assertThat(properties(List.class)).containsExactly("algorithm", "services");
    assertThat(Stream.of(ElectionProperties.class, ElectionProperties.Jdbc.class)
            .flatMap((type) -> Stream.of(type.getRecordComponents()))
            .filter((component) -> component.getType().isEnum()))
        .hasSize(1);
  }

  private static Stream<String> properties(Class<?> type) {
    return Stream.of(ElectionProperties.class, ElectionProperties.Jdbc.class)
        .flatMap((properties) -> Stream.of(properties.getRecordComponents())
            .filter((component) -> component.getType() == type)
            .map((component) -> (properties == ElectionProperties.class ? "" : "mysql.")
                + component.getName().replaceAll("(?=[A-Z])", "-").toLowerCase(Locale.ROOT)));
  }

  @ParameterizedTest
  @MethodSource("switches")
  void switchMeansWhatIsBound(String name, boolean on, String value) {
    for (var spelled : spellings(name, value.startsWith("o"))) {
      spelled
          .apply(value)
          .run((context) ->
              assertThat(EFFECTS.get(name).test(context)).as(name + "=" + value).isEqualTo(on));
    }
  }

  static Stream<Arguments> switches() {
    return EFFECTS.keySet().stream()
        .flatMap((name) -> Stream.concat(
            ON.stream().map((value) -> Arguments.of(name, true, value)),
            OFF.stream().map((value) -> Arguments.of(name, false, value))));
  }

  static Set<String> names() {
    return EFFECTS.keySet();
  }

  @ParameterizedTest
  @MethodSource("names")
  void switchWithoutAValueIsRefusedByName(String name) {
    for (String value : List.of("", "perhaps")) {
      assertThat(StartFailure.text(this.mysql.withPropertyValues(PREFIX + name + "=" + value)))
          .contains(PREFIX + name + " is '" + value + "'")
          .contains("it must be true or false");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"on", "yes", "1", "TRUE"})
  void algorithmThatIsNotThereIsRefusedHoweverEnabledIsSpelled(String enabled) {
    assertThat(StartFailure.text(this.mysql.withPropertyValues(
            "as.election.enabled=" + enabled, "as.election.algorithm=Raft")))
        .contains("as.election.algorithm is 'Raft'");
  }

  @ParameterizedTest
  @CsvSource({
    "Mysql, 'Mysql,MYSQL,mysql,my-sql,My_SQL'",
    "ManualAllocation, 'ManualAllocation,manual-allocation,MANUAL_ALLOCATION,manualallocation,manual.allocation,Manual Allocation'",
    "Zookeeper, 'Zookeeper,ZOOKEEPER,zoo-keeper,ZooKeeper'",
    "Etcd, 'Etcd,ETCD,etcd'"
  })
  void algorithmIsWhatIsBound(String algorithm, String values) {
    Class<?> type = algorithm.equals("ManualAllocation")
        ? ManualAllocationElectionService.class
        : LeaseElectionService.class;
    for (String value : values.split(",", -1)) {
      for (var spelled : spellings("algorithm", value.contains("l-") || value.contains("o-"))) {
        spelled
            .apply(value)
            .withPropertyValues(
                "as.election.zookeeper.connect-string=127.0.0.1:1",
                "as.election.etcd.endpoints=http://127.0.0.1:1")
            .run((context) -> {
              assertThat(context).as(value).hasNotFailed();
              assertThat(context.getBean(ElectionService.class)).isInstanceOf(type);
              assertThat(context.getBean(ElectionBackend.class).algorithm()).isEqualTo(algorithm);
            });
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"migrate", "Validate", "NONE"})
  void schemaIsWhatIsBound(String value) {
    for (var spelled : spellings("mysql.schema", value.equals("NONE"))) {
      spelled
          .apply(value)
          .run((context) -> assertThat(
                  context.getBean(ElectionProperties.class).mysql().schema())
              .isEqualTo(SchemaMode.valueOf(value.toUpperCase(Locale.ROOT))));
    }
  }

  /** Returns the name in kebab case, in camel case, with underscores, and as an environment variable. */
  private List<Function<String, ApplicationContextRunner>> spellings(String name, boolean all) {
    if (!all) {
      return List.of((value) -> with(PREFIX + name, value));
    }
    String camel = PREFIX + name.replaceAll("-", "");
    String underscored = PREFIX + name.replace('-', '_');
    String variable = (PREFIX + name).replace("-", "").replace('.', '_').toUpperCase(Locale.ROOT);
    return List.of(
        (value) -> with(PREFIX + name, value),
        (value) -> with(camel, value),
        (value) -> with(underscored, value),
        (value) -> with(new SystemEnvironmentPropertySource(
            "test-systemEnvironment", Map.of(variable, value))));
  }

  private ApplicationContextRunner with(String name, String value) {
    return with(new MapPropertySource("spelled", Map.of(name, value)));
  }

  private ApplicationContextRunner with(PropertySource<?> source) {
    return this.mysql.withInitializer((context) -> {
      context.getEnvironment().getPropertySources().addFirst(source);
      EndpointAccess.expose(context.getEnvironment());
    });
  }
}
