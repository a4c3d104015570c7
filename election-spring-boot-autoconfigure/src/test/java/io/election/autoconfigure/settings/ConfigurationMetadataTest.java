package io.election.autoconfigure.settings;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.settings.ElectionProperties.Jdbc.SchemaMode;
import java.io.IOException;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.convert.DurationStyle;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The descriptions that editors show, and the table in docs/settings.md, are complete and correct. */
class ConfigurationMetadataTest {

  private static final JsonNode METADATA = JsonMapper.builder()
      .build()
      .readTree(Path.of("target", "classes", "META-INF", "spring-configuration-metadata.json"));

  private static final Pattern PROPERTY = Pattern.compile("\\bas\\.election(?:\\.[\\w-]+)+");

  private final Map<String, JsonNode> properties = properties("as.election.");

  private final String page = Files.readString(Path.of("..", "docs", "settings.md"));

  ConfigurationMetadataTest() throws IOException {}

  @Test
  void everyPropertyIsThereWithItsTypeAndDefault() {
    Map<String, Parameter> expected = new TreeMap<>();
    addComponents("as.election.", ElectionProperties.class, expected);
    assertThat(this.properties.keySet()).containsExactlyElementsOf(expected.keySet());
    expected.forEach((name, parameter) -> {
      JsonNode property = this.properties.get(name);
      assertThat(property.path("type").asString())
          .as(name)
          .isEqualTo(parameter
              .getParameterizedType()
              .getTypeName()
              .replaceFirst("^boolean$", "java.lang.Boolean"));
      DefaultValue annotation = parameter.getAnnotation(DefaultValue.class);
      String value = annotation != null ? String.join(",", annotation.value()) : "";
      assertThat(normalized(defaultOf(property), parameter))
          .as("the default of %s", name)
          .isEqualTo(normalized(value, parameter));
    });
  }

  @Test
  void everyPropertyIsDescribed() {
    assertThat(properties(""))
        .allSatisfy((name, property) -> assertThat(property.path("description").asString())
            .endsWith(".")
            .doesNotContain("{@", "&#", "null"));
  }

  @Test
  void whatHasFewValuesNamesThemAll() {
    assertThat(values("as.election.algorithm"))
        .containsExactlyInAnyOrderElementsOf(ElectionAlgorithm.OURS);
    assertThat(Stream.of("mysql", "postgresql"))
        .allSatisfy((product) -> assertThat(values("as.election." + product + ".schema"))
            .containsExactlyInAnyOrderElementsOf(Stream.of(SchemaMode.values())
                .map((mode) -> mode.name().toLowerCase(Locale.ROOT))
                .toList()));
  }

  @Test
  void theDocumentationListsExactlyThesePropertiesWithTheirDefaults() {
    Map<String, String> documented = new TreeMap<>();
    Pattern.compile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\|.*$")
        .matcher(this.page.replaceFirst("(?s)\n## .*", ""))
        .results()
        .forEach((row) -> assertThat(documented.put(row.group(1), row.group(2)))
            .as(row.group(1) + " is listed once")
            .isNull());
    Map<String, String> expected = new TreeMap<>();
    properties("").forEach((name, property) -> expected.put(name, defaultOf(property)));
    // A default that depends on others, or none, is described in words.
    documented.replaceAll((name, value) ->
        value.matches("`[^`]*`") ? value.replace("`", "") : value.isBlank() ? "blank" : "");
    assertThat(documented).isEqualTo(expected);
  }

  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void propertiesThatThePagesNameExist(Path page) throws IOException {
    List<String> known = Stream.of("properties", "groups")
        .flatMap((kind) -> METADATA.path(kind).valueStream())
        .map((entry) -> entry.path("name").asString())
        .toList();
    assertThat(PROPERTY.matcher(Files.readString(page)).results().map((found) -> found.group()))
        .allSatisfy((name) -> assertThat(known).contains(name));
  }

  /** Collects the components of the property records by the names that users write. */
  private static void addComponents(
      String prefix, Class<?> record, Map<String, Parameter> expected) {
    for (Parameter parameter : record.getDeclaredConstructors()[0].getParameters()) {
      String name =
          prefix + parameter.getName().replaceAll("(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
      if (parameter.getType().isRecord()) {
        addComponents(name + ".", parameter.getType(), expected);
      } else {
        expected.put(name, parameter);
      }
    }
  }

  private static String defaultOf(JsonNode property) {
    JsonNode value = property.path("defaultValue");
    return value.isArray() ? value.path(0).asString("") : value.asString("");
  }

  private static Object normalized(String value, Parameter parameter) {
    return parameter.getType() == Duration.class && !value.isEmpty()
        ? DurationStyle.detectAndParse(value)
        : value;
  }

  private static List<String> values(String property) {
    return METADATA
        .path("hints")
        .valueStream()
        .filter((hint) -> hint.path("name").asString().equals(property))
        .flatMap((hint) -> hint.path("values").valueStream())
        .peek((value) -> assertThat(value.path("description").asString()).endsWith("."))
        .map((value) -> value.path("value").asString())
        .toList();
  }

  private static Map<String, JsonNode> properties(String prefix) {
    Map<String, JsonNode> properties = new TreeMap<>();
    METADATA
        .path("properties")
        .valueStream()
        .filter((property) -> property.path("name").asString().startsWith(prefix))
        .forEach(
            (property) -> assertThat(properties.put(property.path("name").asString(), property))
                .isNull());
    return properties;
  }
}
