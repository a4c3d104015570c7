package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The table of faults in the documentation matches the tests. */
class FaultTableTest {

  /** Faults 48 and 49 are about stores that this version does not have. */
  private static final Set<Integer> NOT_APPLICABLE = Set.of(48, 49);

  private final String table;

  FaultTableTest() throws IOException {
    this.table = Files.readString(Path.of("..", "docs", "reliability.md"));
  }

  @Test
  void everyFaultHasATest() {
    Set<Integer> numbers = new TreeSet<>();
    documented().forEach((name) -> numbers.add(Integer.parseInt(name.substring(6, 8))));
    assertThat(numbers)
        .containsExactlyElementsOf(IntStream.rangeClosed(1, 54)
            .boxed()
            .filter((number) -> !NOT_APPLICABLE.contains(number))
            .toList());
  }

  @Test
  void everyTestOfAFaultIsInTheTable() throws Exception {
    assertThat(documented()).containsAll(tests().map(Method::getName).toList());
  }

  @Test
  void everyTestInTheTableIsThere() throws Exception {
    Set<String> names = tests().map(Method::getName).collect(Collectors.toSet());
    assertThat(documented()).allSatisfy((name) -> {
      if (!name.startsWith("fault_28")) { // tested with injected clocks in the core
        assertThat(names).contains(name);
      }
    });
  }

  @Test
  void whatIsBoldRunsInEveryBuild() throws Exception {
    Set<String> always = tests()
        .filter((test) -> !test.isAnnotationPresent(Tag.class)
            && !test.getDeclaringClass().isAnnotationPresent(Tag.class))
        .map(Method::getName)
        .collect(Collectors.toCollection(TreeSet::new));
    Set<String> bold = new TreeSet<>();
    Matcher matcher = Pattern.compile("\\*\\*`(fault_\\w+)`\\*\\*").matcher(this.table);
    while (matcher.find()) {
      if (!matcher.group(1).startsWith("fault_28")) {
        bold.add(matcher.group(1));
      }
    }
    assertThat(bold).isEqualTo(always);
  }

  private Set<String> documented() {
    Set<String> names = new TreeSet<>();
    Matcher matcher = Pattern.compile("`(?:\\w+\\.)?(fault_\\w+)`").matcher(this.table);
    while (matcher.find()) {
      names.add(matcher.group(1));
    }
    return names;
  }

  private static Stream<Method> tests() throws Exception {
    Path folder = Path.of(
        FaultTableTest.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (Stream<Path> files = Files.list(folder.resolve("io/election/faults"))) {
      return files
          .map((file) -> file.getFileName().toString())
          .filter((name) -> name.endsWith("IT.class"))
          .toList()
          .stream()
          .flatMap((name) -> Stream.of(methods(name.replace(".class", ""))))
          .filter((method) -> method.getName().startsWith("fault_"));
    }
  }

  private static Method[] methods(String name) {
    try {
      return Class.forName("io.election.faults." + name).getDeclaredMethods();
    } catch (ClassNotFoundException ex) {
      throw new IllegalStateException(ex);
    }
  }
}
