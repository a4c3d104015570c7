package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.ElectionProperties.Manual;
import io.election.autoconfigure.ElectionProperties.Mysql;
import io.election.autoconfigure.ElectionProperties.Mysql.SchemaMode;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Parameter;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.json.JsonParserFactory;

/** The descriptions that editors show, and the documentation's table, are complete and correct. */
class ConfigurationMetadataTest {

  private static final String PREFIX = "as.election";

  private final List<Map<String, Object>> properties = entries("properties").stream()
      .filter((property) -> !property.containsKey("deprecation"))
      .toList();

  private final List<Map<String, Object>> hints = entries("hints");

  @Test
  void everyPropertyIsThereWithItsTypeAndDefault() {
    Map<String, Parameter> expected = expected();
    assertThat(this.properties).extracting(ConfigurationMetadataTest::name).doesNotHaveDuplicates();
    assertThat(byName().keySet()).containsExactlyElementsOf(expected.keySet());
    expected.forEach((name, parameter) -> {
      Map<String, Object> property = byName().get(name);
      assertThat(property.get("type"))
          .as(name)
          .isEqualTo(boxed(parameter.getParameterizedType().getTypeName()));
      assertThat(sameDefault(property.get("defaultValue"), parameter))
          .as("%s has the default %s", name, property.get("defaultValue"))
          .isTrue();
    });
  }

  @Test
  void everyPropertyIsDescribed() {
    assertThat(this.properties)
        .allSatisfy((property) -> assertThat(property.get("description"))
            .as(name(property))
            .asString()
            .endsWith(".")
            .doesNotContain("{@", "&#", "null"));
  }

  @Test
  void settingsOfTheActuatorsPartsAreDescribedAndDocumented() throws IOException {
    String operations = Files.readString(Path.of("..", "docs", "operations.md"));
    List<String> names = List.of(
        "management.health.election.enabled",
        "management.info.election.enabled",
        "management.endpoint.leader.show-details",
        "management.endpoint.leader.roles");
    assertThat(entries("properties", "management."))
        .filteredOn((property) -> names.contains(name(property)))
        .hasSameSizeAs(names)
        .allSatisfy((property) -> {
          assertThat(property.get("description")).asString().endsWith(".");
          assertThat(operations).contains("`" + name(property));
        });
  }

  @Test
  void whatHasFewValuesNamesThemAll() {
    assertThat(values("as.election.algorithm"))
        .containsExactlyInAnyOrder(ElectionAlgorithm.MYSQL, ElectionAlgorithm.MANUAL_ALLOCATION);
    assertThat(values("as.election.mysql.schema"))
        .containsExactlyInAnyOrderElementsOf(Arrays.stream(SchemaMode.values())
            .map((mode) -> mode.name().toLowerCase(Locale.ROOT))
            .toList());
  }

  @Test
  void theDocumentationListsExactlyTheseProperties() throws IOException {
    Map<String, String> documented = new TreeMap<>();
    Matcher row = Pattern.compile("(?m)^\\| `(as\\.election\\.[^`]+)` \\| ([^|]*)\\|.*$")
        .matcher(Files.readString(Path.of("..", "docs", "operations.md"))
            .replaceFirst("(?s)### .*", ""));
    while (row.find()) {
      assertThat(documented.put(row.group(1), row.group(2).strip()))
          .as(row.group(1) + " is listed once")
          .isNull();
    }
    assertThat(documented.keySet()).containsExactlyElementsOf(byName().keySet());
    byName().forEach((name, property) -> {
      Object defaultValue = property.get("defaultValue");
      if (defaultValue != null && !(defaultValue instanceof List<?>)) {
        assertThat(documented)
            .as("the default in the documentation")
            .containsEntry(name, "`" + defaultValue + "`");
      }
    });
  }

  /** Returns the components of the property records by the names that users write. */
  private static Map<String, Parameter> expected() {
    Map<String, Parameter> expected = new TreeMap<>();
    addComponents(PREFIX, ElectionProperties.class, expected);
    return expected;
  }

  private static void addComponents(
      String prefix, Class<?> record, Map<String, Parameter> expected) {
    for (Parameter parameter : record.getDeclaredConstructors()[0].getParameters()) {
      String name =
          prefix + "." + parameter.getName().replaceAll("(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
      if (List.of(Manual.class, Mysql.class).contains(parameter.getType())) {
        addComponents(name, parameter.getType(), expected);
      } else {
        expected.put(name, parameter);
      }
    }
  }

  private static boolean sameDefault(Object told, Parameter parameter) {
    DefaultValue annotation = parameter.getAnnotation(DefaultValue.class);
    if (annotation == null) {
      return told == null;
    }
    if (annotation.value().length == 0) {
      return told == null || told.equals(List.of());
    }
    String value = annotation.value()[0];
    if (told == null) {
      return false;
    }
    String text = told instanceof List<?> list ? list.get(0).toString() : told.toString();
    return parameter.getType().equals(Duration.class)
        ? DurationStyle.detectAndParse(text).equals(DurationStyle.detectAndParse(value))
        : text.equals(value);
  }

  private static String boxed(String type) {
    return type.equals("boolean") ? Boolean.class.getName() : type;
  }

  private List<Object> values(String property) {
    List<Object> values = new ArrayList<>();
    for (Map<String, Object> hint : this.hints) {
      if (name(hint).equals(property)) {
        for (Map<String, Object> value : maps(hint.get("values"))) {
          assertThat(value.get("description")).asString().endsWith(".");
          values.add(value.get("value"));
        }
      }
    }
    return values;
  }

  private Map<String, Map<String, Object>> byName() {
    Map<String, Map<String, Object>> byName = new TreeMap<>();
    this.properties.forEach((property) -> byName.put(name(property), property));
    return byName;
  }

  private static String name(Map<String, Object> entry) {
    return entry.get("name").toString();
  }

  private static List<Map<String, Object>> entries(String kind) {
    return entries(kind, PREFIX + ".");
  }

  private static List<Map<String, Object>> entries(String kind, String prefix) {
    List<Map<String, Object>> entries = new ArrayList<>();
    try {
      for (URL file : Collections.list(ConfigurationMetadataTest.class
          .getClassLoader()
          .getResources("META-INF/spring-configuration-metadata.json"))) {
        try (InputStream in = file.openStream()) {
          String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
          Object found = JsonParserFactory.getJsonParser().parseMap(text).get(kind);
          maps(found).stream()
              .filter((entry) -> name(entry).startsWith(prefix))
              .forEach(entries::add);
        }
      }
    } catch (IOException ex) {
      throw new IllegalStateException(ex);
    }
    return entries;
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> maps(Object list) {
    return list == null ? List.of() : (List<Map<String, Object>>) list;
  }
}
