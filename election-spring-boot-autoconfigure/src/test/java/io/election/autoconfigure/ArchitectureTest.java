package io.election.autoconfigure;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameContaining;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameStartingWith;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameContaining;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.election.store.MemoryLeaseStore;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The dependencies that each module may have. */
class ArchitectureTest {

  private static final JavaClasses CLASSES = new ClassFileImporter()
      .withImportOption(new ImportOption.DoNotIncludeTests())
      .withImportOption((location) -> !location.contains("-tests.jar"))
      .importPackages("io.election");

  private static final String[] CORE = {"io.election", "io.election.lease", "io.election.store"};

  private static final DescribedPredicate<JavaClass> DECISION = resideInAnyPackage(
          "io.election.lease", "io.election.store")
      .and(DescribedPredicate.or(Stream.of(
              "Candidacy",
              "TakeoverRule",
              "Participation",
              "State",
              "Observation",
              "Step",
              "Remembered",
              "LeaseRow")
          .map(JavaClass.Predicates::simpleNameStartingWith)
          .toList()))
      .as("the decision function");

  /** The part of the test kit that configures Spring Boot tests. */
  private static final DescribedPredicate<JavaClass> SPRING_TEST =
      resideInAnyPackage("io.election.test").and(simpleNameStartingWith("AutoConfigureElection"));

  /** The contracts of a store, and what they stand on. */
  private static final DescribedPredicate<JavaClass> CONTRACT = resideInAnyPackage(
          "io.election.test")
      .and(simpleNameContaining("Contract")
          .or(nameContaining("LeaseStoreFixture"))
          .or(nameContaining("StoreFaults")));

  /** The sample's database, which tests use too. */
  private static final DescribedPredicate<JavaClass> SAMPLE =
      resideInAnyPackage("io.election.embedded");

  @Test
  void theCoreKnowsNeitherSpringNorJdbc() {
    classes()
        .that()
        .resideInAnyPackage(CORE)
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(CORE)
            .or(resideInAnyPackage("java..", "org.slf4j..", "org.jspecify.."))
            .and(not(resideInAnyPackage("java.sql.."))))
        .check(CLASSES);
  }

  /** In production neither Spring Test nor a class that needs it can be loaded. */
  @Test
  void nothingNeedsSpringTest() {
    noClasses()
        .that()
        .resideInAPackage("io.election.autoconfigure..")
        .and()
        .haveNameNotMatching(".*\\.TestContextMark(\\$.*)?")
        .should()
        .dependOnClassesThat(resideInAnyPackage("org.springframework.test..")
            .or(nameMatching(".*\\.TestContextMark(\\$.*)?")))
        .check(CLASSES);
  }

  @Test
  void noPackagesDependOnEachOther() {
    slices().matching("io.(**)").should().beFreeOfCycles().check(CLASSES);
  }

  /**
   * References are found by name in the sources, since the compiler inlines constants. Exempt are
   * what the language or Spring wants to be written both ways (the subtypes of a sealed type, the
   * condition behind an annotation), and by name one decision in three files and what is about to
   * go.
   */
  @Test
  void noFilesOfAPackageDependOnEachOther() throws IOException {
    Map<Path, Map<String, String>> packages = new TreeMap<>();
    for (Path file : sources("(?!lab/(?!embedded)).*")) {
      String name = file.getFileName().toString().replace(".java", "");
      if (!name.equals("package-info")) {
        packages
            .computeIfAbsent(file.getParent(), (folder) -> new TreeMap<>())
            .put(name, Files.readString(file));
      }
    }
    Set<Set<String>> circles = new HashSet<>();
    packages.values().forEach((files) -> circles.addAll(circles(files)));
    assertThat(packages).hasSizeGreaterThan(10);
    // a candidacy chooses a step, whose answer changes the candidacy
    assertThat(circles).containsExactly(Set.of("Candidacy", "Step", "TakeoverRule"));
  }

  @Test
  void circlesOfFilesAreFound() {
    assertThat(circles(Map.of(
            "A", "import io.election.B.Nested; class A { Nested b; /* D */ }",
            "B", "class B { int c = C.ONE; }",
            "C", "import static io.election.A.one; class C { static final int ONE = one(); }",
            "D", "// D knows A\nclass D { A a; String e = \"E\"; }",
            "E", "sealed interface E permits F { D d(); }",
            "F", "@Conditional(G.class) record F() implements E {}",
            "G", "class G { F f; java.util.E other; }")))
        .containsExactly(Set.of("A", "B", "C"));
  }

  /**
   * Returns the sets of files that need each other.
   *
   * @param files the sources of one package, by the names of their types
   */
  private static Set<Set<String>> circles(Map<String, String> files) {
    Pattern unread =
        Pattern.compile("(?s)/\\*.*?\\*/|\"\"\".*?\"\"\"|\"(\\\\.|[^\"\\\\\n])*\"|//[^\n]*"
            + "|@Conditional\\([^)]*\\)|\\bpermits [^{]*|\\bpackage [^;]*;");
    Pattern name = Pattern.compile("(?<![\\w.])(?:io\\.election\\.(?:[a-z]+\\.)*)?([A-Z]\\w*)");
    Map<String, Set<String>> reached = new TreeMap<>();
    files.forEach((file, source) -> reached.put(
        file,
        name.matcher(unread.matcher(source).replaceAll(" "))
            .results()
            .map((found) -> found.group(1))
            .filter((found) -> files.containsKey(found) && !found.equals(file))
            .collect(Collectors.toCollection(TreeSet::new))));
    for (String through : reached.keySet()) {
      for (Set<String> from : reached.values()) {
        if (from.contains(through)) {
          from.addAll(reached.get(through));
        }
      }
    }
    return reached.keySet().stream()
        .filter((file) -> reached.get(file).contains(file))
        .map((file) -> reached.get(file).stream()
            .filter((other) -> reached.get(other).contains(file))
            .collect(Collectors.toSet()))
        .collect(Collectors.toSet());
  }

  @Test
  void theDecisionFunctionHasNoIoNoThreadsAndNoClocks() {
    noClasses()
        .that(DECISION)
        .should()
        .dependOnClassesThat(resideInAnyPackage(
                "org.slf4j..", "java.io..", "java.net..", "java.util.concurrent.atomic..")
            .or(JavaClass.Predicates.assignableTo(Thread.class))
            .or(JavaClass.Predicates.assignableTo(Clock.class)))
        .check(CLASSES);
  }

  @Test
  void theCoreReadsNoClockButThoseItIsGiven() {
    noClasses()
        .that()
        .resideInAnyPackage(CORE)
        .should()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(Instant.class, "now")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .check(CLASSES);
  }

  /** Each exception says what its reading is for. */
  @Test
  void noWallClockDecides() {
    assertThat(wallClockReadings(CLASSES.that(not(resideInAnyPackage("io.election.support..")))))
        .containsExactlyInAnyOrder(
            // ends a leadership, never begins or lengthens one: a suspension stops the other clock
            "Clocks.readOnce",
            "Clocks.glance",
            // tells when the next renewal is expected, and so only when to poll, within bounds
            "KeyValueLeaseStore.read",
            "Renewal.renew",
            "KeyValueLeaseStore.acquire",
            // times in the history, for people; also of what is pruned, never of the newest term
            "KeyValueLeaseStore.create",
            "KeyValueLeaseStore.leading",
            "Release.ended",
            "KeyValueLeaseStore.prune",
            // numbers terms after data may have been put back; never decides who leads
            "Lineage.skipped",
            // when a member came and was last there, for people
            "Members.announce",
            // since when a node leads, for people
            "ManualAllocationElectionService.<init>",
            "ManualAllocationElectionService.lead",
            "State.ledBy",
            // since when a bean runs, for people
            "LeaderBoundBean.<init>",
            "LeaderBoundBean.enter",
            // times in the history of a store for tests, for people
            "MemoryLeaseStore.instant");
  }

  @Test
  void readingsOfAWallClockAreFound() {
    assertThat(wallClockReadings(new ClassFileImporter().importClasses(Readings.class)))
        .hasSameSizeAs(Readings.class.getDeclaredMethods());
  }

  @SuppressWarnings({"JavaUtilDate", "JavaTimeDefaultTimeZone", "UnusedMethod"})
  private static final class Readings {

    static long milliseconds() {
      return System.currentTimeMillis();
    }

    static Supplier<Instant> reference() {
      return Instant::now;
    }

    static LocalDate date() {
      return LocalDate.now();
    }

    static long clock(Clock clock) {
      return clock.millis();
    }

    static Instant source(InstantSource source) {
      return source.instant();
    }

    static Date old() {
      return new Date();
    }

    static Calendar calendar() {
      return Calendar.getInstance();
    }
  }

  private static Set<String> wallClockReadings(JavaClasses classes) {
    Set<String> readings = new TreeSet<>();
    for (JavaClass each : classes) {
      each.getAccessesFromSelf().stream()
          .filter(ArchitectureTest::readsAWallClock)
          .forEach((reading) ->
              readings.add(each.getSimpleName() + "." + reading.getOwner().getName()));
    }
    return readings;
  }

  private static boolean readsAWallClock(JavaAccess<?> access) {
    JavaClass owner = access.getTargetOwner();
    String name = access.getTarget().getName();
    return owner.isEquivalentTo(System.class) && name.equals("currentTimeMillis")
        || owner.getPackageName().startsWith("java.time") && name.matches("(date)?[nN]ow")
        || owner.isAssignableTo(InstantSource.class) && name.matches("millis|instant")
        || owner.isEquivalentTo(Calendar.class) && name.equals("getInstance")
        || owner.isEquivalentTo(Date.class)
            && access.getTarget() instanceof AccessTarget.CodeUnitAccessTarget created
            && name.equals("<init>")
            && created.getRawParameterTypes().isEmpty();
  }

  /**
   * In the statements of the store in a database, time may be written and shown. Each class that
   * may compare it is named with the number of its conditions.
   */
  @Test
  void noDatabaseTimeDecides() throws IOException {
    Map<String, Integer> conditions = new TreeMap<>();
    for (Path file : sources("election-jdbc")) {
      int found = timesInConditions(Files.readString(file));
      if (found > 0) {
        conditions.put(file.getFileName().toString().replace(".java", ""), found);
      }
    }
    assertThat(conditions)
        .isEqualTo(Map.of(
            // the row is as it was read: a value that is compared for equality, not a time
            "LeaseRows", 1,
            // a row is as it was read, compared for equality
            "MemberTable", 1,
            // whether operators are told that commits wait for a standby
            "PostgresqlDialect", 1,
            // which ended terms are pruned, never the newest
            "TermHistory", 3));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      "SELECT 1 FROM t WHERE a < now()"                                | 1
      "UPDATE t SET a = IF(last < NOW() - INTERVAL 5 SECOND, 1, a)"     | 1
      "SELECT CASE WHEN sysdate(6) > a THEN 1 END"                      | 1
      "SELECT a FROM t JOIN u ON u.a = t.a AND UTC_TIMESTAMP() > u.b"   | 1
      "a < UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6))"                        | 2
      "a < EXTRACT(EPOCH FROM statement_timestamp())"                   | 2
      "SELECT EXTRACT(EPOCH FROM a) FROM t WHERE b = ?"                 | 0
      "UPDATE t SET a = CURRENT_TIMESTAMP(6), b = ? WHERE c = ?"        | 0
      "SELECT UNIX_TIMESTAMP(a) FROM t WHERE b = ?"                     | 0
      "nowhere"                                                         | 0
      """)
  void timesInConditionsAreFound(String java, int times) {
    assertThat(timesInConditions(java)).isEqualTo(times);
  }

  private static int timesInConditions(String java) {
    Pattern text = Pattern.compile("(?s)\"\"\"(.*?)\"\"\"|\"((?:[^\"\\\\\n]|\\\\.)*)\"");
    Pattern word = Pattern.compile("(?i)\\b(WHERE|ON|HAVING|IF|CASE|WHEN|AND|OR)\\b"
        + "|\\b(SELECT|SET|VALUES|FROM|BY|THEN|ELSE|DEFAULT|INSERT)\\b"
        + "|\\b(?:NOW|SYSDATE|CURDATE|CURTIME|LOCALTIME|LOCALTIMESTAMP|CURRENT_TIMESTAMP"
        + "|CURRENT_TIME|CURRENT_DATE|UTC_TIMESTAMP|UTC_TIME|UTC_DATE|UNIX_TIMESTAMP|SECONDS_OF"
        + "|STATEMENT_TIMESTAMP|TRANSACTION_TIMESTAMP|CLOCK_TIMESTAMP)\\b");
    return (int) text.matcher(java)
        .results()
        .map((literal) -> literal.group(1) != null ? literal.group(1) : literal.group(2))
        // That FROM begins no clause.
        .map((sql) -> sql.replace("EXTRACT(EPOCH FROM", "SECONDS_OF("))
        .mapToLong((sql) -> {
          // A part of a statement that compares is part of a condition.
          boolean[] condition = {sql.matches("(?s)[^%?]*[<>].*")};
          return word.matcher(sql)
              .results()
              .filter((found) -> {
                boolean clause = found.group(1) != null || found.group(2) != null;
                condition[0] = clause ? found.group(1) != null : condition[0];
                return !clause && condition[0];
              })
              .count();
        })
        .sum();
  }

  /**
   * Keys, statements and what other nodes read are the same in each locale. Formats that write a
   * number as some locales do (with their own digits) therefore name one; {@code %s} does not.
   */
  @Test
  void noNumberIsWrittenInTheLocaleOfTheProcess() throws IOException {
    Pattern number = Pattern.compile("%[-+ ,(#0-9.$]*[deEfgG]\\b");
    List<String> found = new ArrayList<>();
    for (Path file : sources("(?!lab/benchmarks).*")) {
      Files.readAllLines(file).stream()
          .filter((line) -> number.matcher(line).find() && !line.contains("Locale.ROOT"))
          .forEach((line) -> found.add(file.getFileName() + ": " + line.strip()));
    }
    assertThat(found).isEmpty();
  }

  /**
   * Returns the main sources of modules.
   *
   * @param modules a pattern of their folders
   */
  static List<Path> sources(String modules) throws IOException {
    PathMatcher sources = FileSystems.getDefault()
        .getPathMatcher("regex:\\.\\./" + modules + "/src/main/java/.*\\.java");
    try (Stream<Path> files = Files.walk(Path.of(".."))) {
      return files.filter(sources::matches).toList();
    }
  }

  @Test
  void onlyTheAutoConfigurationKnowsSpring() {
    noClasses()
        .that(not(
            resideInAnyPackage("io.election.autoconfigure..").or(SPRING_TEST).or(SAMPLE)))
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("org.springframework..", "io.election.autoconfigure.."))
        .check(CLASSES);
  }

  @Test
  void theTestKitStandsOnTheCoreAloneAndNothingStandsOnIt() {
    classes()
        .that()
        .resideInAPackage("io.election.test")
        .and(not(SPRING_TEST))
        .and(not(CONTRACT))
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(
            "io.election.test",
            "io.election",
            "io.election.lease",
            "io.election.store",
            "java..",
            "org.jspecify.."))
        .check(CLASSES);
    classes()
        .that(CONTRACT)
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(
            "io.election.test",
            "io.election",
            "io.election.lease",
            "io.election.store",
            "java..",
            "org.assertj..",
            "org.junit.jupiter.api..",
            "org.jspecify.."))
        .check(CLASSES);
    noClasses()
        .that(not(resideInAnyPackage("io.election.test")))
        .should()
        .dependOnClassesThat(resideInAnyPackage("io.election.test"))
        .check(CLASSES);
  }

  @Test
  void productionKeepsNoLeaseInMemory() {
    noClasses()
        .that(not(resideInAnyPackage("io.election.test"))
            .and(not(simpleNameStartingWith(MemoryLeaseStore.class.getSimpleName()))))
        .should()
        .dependOnClassesThat(JavaClass.Predicates.equivalentTo(MemoryLeaseStore.class))
        .check(CLASSES);
  }

  @ParameterizedTest
  @CsvSource({
    "leaderonly, leaderonly",
    "commitfence, leaderonly",
    "jdbc, commitfence",
    "zookeeper, zookeeper",
    "etcd, etcd",
    "joint, joint",
    "actuate, leaderonly"
  })
  void aFeatureKnowsTheAutoConfigurationAboveItAndFewOthers(String feature, String other) {
    classes()
        .that()
        .resideInAPackage("io.election.autoconfigure." + feature)
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(
                "io.election.autoconfigure",
                "io.election.autoconfigure.settings",
                "io.election.autoconfigure." + feature,
                "io.election.autoconfigure." + other)
            .or(not(resideInAnyPackage("io.election.autoconfigure.."))))
        .check(CLASSES);
    noClasses()
        .that()
        .resideInAPackage("io.election.autoconfigure")
        .should()
        .dependOnClassesThat(resideInAnyPackage("io.election.autoconfigure." + feature))
        .check(CLASSES);
  }

  @ParameterizedTest
  @CsvSource({
    "io.election.jdbc, io.election.jdbc",
    "io.election.keyvalue, io.election.keyvalue",
    "io.election.zookeeper, io.election.keyvalue",
    "io.election.etcd, io.election.keyvalue"
  })
  void aBackendKnowsTheCoreAndItsBaseAndNoOtherModule(String backend, String base) {
    classes()
        .that()
        .resideInAPackage(backend)
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage("io.election", "io.election.store", base, backend + "..")
                .or(not(resideInAnyPackage("io.election.."))))
        .check(CLASSES);
  }

  @Test
  void onlyTheStoreInADatabaseKnowsJdbc() {
    noClasses()
        .that()
        .resideInAnyPackage("io.election.keyvalue", "io.election.zookeeper", "io.election.etcd")
        .should()
        .dependOnClassesThat(resideInAnyPackage("java.sql..", "javax.sql.."))
        .check(CLASSES);
  }

  @ParameterizedTest
  @CsvSource({
    "jdbc, CommitFence(\\$Held)?|ElectionDatabase(\\$(Login|Settings))?|JdbcUrl|JdbcLeaseStore(\\$SchemaMode)?|UnpooledConnections",
    "keyvalue, KeyValueLeaseStore|LoginPause|KeyValueServer(\\$.*)?",
    "zookeeper, ZookeeperFence|ZookeeperLeaseStore(\\$Builder)?",
    "etcd, EtcdFence|EtcdLeaseStore(\\$Builder)?"
  })
  void aBackendHasFewPublicTypes(String backend, String types) {
    classes()
        .that()
        .resideInAPackage("io.election." + backend)
        .and()
        .arePublic()
        .should()
        .haveNameMatching(".*\\.(" + types + ")")
        .check(CLASSES);
  }
}
