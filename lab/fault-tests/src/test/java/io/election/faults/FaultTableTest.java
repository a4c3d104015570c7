package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/** The table of faults in the documentation matches the tests. */
class FaultTableTest {

  private static final String NAME = "`(?:\\w+\\.)?(fault_\\w+)`";

  private final String table;

  FaultTableTest() throws IOException {
    this.table = Files.readString(Path.of("..", "..", "docs", "reliability.md"));
  }

  @Test
  void everyFaultHasATest() {
    Set<Integer> numbers = new TreeSet<>();
    documented().forEach((name) -> numbers.add(Integer.parseInt(name.substring(6, 8))));
    assertThat(numbers)
        .containsExactlyElementsOf(IntStream.rangeClosed(1, 64).boxed().toList());
  }

  @Test
  void everyTestOfAFaultIsInTheTable() throws Exception {
    assertThat(documented()).containsAll(names(tests()));
  }

  @Test
  void everyTestInTheTableIsThere() throws Exception {
    Set<String> names = names(tests());
    names.addAll(testsOfOtherModules());
    assertThat(names).containsAll(documented());
  }

  @Test
  void whatIsBoldRunsInEveryBuild() throws Exception {
    Set<String> always = names(tests()
        .filter((test) -> !test.method().isAnnotationPresent(Tag.class)
            && !test.type().isAnnotationPresent(Tag.class)));
    Set<String> bold = documented(this.table, "\\*\\*`(fault_\\w+)`\\*\\*");
    bold.removeAll(testsOfOtherModules());
    assertThat(bold).isEqualTo(always);
  }

  /** The last column tells, or names a test of another kind. */
  @Test
  void whatRunsOnPostgresqlIsToldSo() throws Exception {
    Set<String> names = names(tests()
        .filter((test) -> test.type().getSimpleName().startsWith("Postgresql")
            || test.method().getName().endsWith("_on_postgresql")));
    Map<String, Boolean> runs = new TreeMap<>();
    Map<String, Boolean> told = new TreeMap<>();
    for (MatchResult row : Pattern.compile("(?m)^(.*`fault_.*) \\| (.*)$")
        .matcher(this.table)
        .results()
        .toList()) {
      String fault = row.group(1).replaceFirst(" \\|.*", "");
      runs.put(fault, documented(row.group(1), NAME).stream().anyMatch(names::contains));
      told.put(fault, row.group(2).startsWith("yes"));
    }
    assertThat(told).isEqualTo(runs).hasSizeGreaterThan(60);
  }

  private Set<String> documented() {
    return documented(this.table, NAME);
  }

  private static Set<String> documented(String text, String pattern) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map((match) -> match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Faults that need no server and no process of their own are played where the code is. */
  private static Set<String> testsOfOtherModules() throws IOException {
    Set<String> names = new TreeSet<>();
    Pattern test = Pattern.compile("\\bvoid (fault_\\w+)\\(");
    try (Stream<Path> files = Files.walk(Path.of("..", ".."))) {
      for (Path file : files.filter(FaultTableTest::isTestOfAnotherModule).toList()) {
        test.matcher(Files.readString(file))
            .results()
            .forEach((match) -> names.add(match.group(1)));
      }
    }
    return names;
  }

  private static boolean isTestOfAnotherModule(Path file) {
    String path = file.toString();
    return path.matches("\\.\\./\\.\\./[\\w/-]+/src/(test|main)/java/.*(Test|IT|Contract)\\.java")
        && !path.startsWith("../../lab/fault-tests/");
  }

  /** A test, and the class that runs it. */
  private record Run(Class<?> type, Method method) {}

  private static Set<String> names(Stream<Run> tests) {
    return tests
        .map((test) -> test.method().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Stream<Run> tests() throws Exception {
    Path folder = Path.of(
        FaultTableTest.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Run> tests = new ArrayList<>();
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(folder.resolve("io/election/faults"), "*IT.class")) {
      for (Path file : files) {
        String name = file.getFileName().toString().replace(".class", "");
        Class<?> type = Class.forName("io.election.faults." + name);
        ReflectionSupport.streamMethods(
                type,
                (method) -> method.getName().startsWith("fault_"),
                HierarchyTraversalMode.TOP_DOWN)
            .forEach((method) -> tests.add(new Run(type, method)));
      }
    }
    return tests.stream();
  }
}
