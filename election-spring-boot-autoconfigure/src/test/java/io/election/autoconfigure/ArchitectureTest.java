package io.election.autoconfigure;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameContaining;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameStartingWith;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameContaining;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.election.lease.MemoryLeaseStore;
import java.time.Clock;
import java.time.Instant;
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

  private static final String[] CORE = {"io.election", "io.election.lease", "io.election.joint"};

  private static final DescribedPredicate<JavaClass> DECISION = resideInAnyPackage(
          "io.election.lease")
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
  private static final DescribedPredicate<JavaClass> SPRING_TEST = resideInAnyPackage(
          "io.election.testing")
      .and(simpleNameStartingWith("AutoConfigureElection"));

  /** The contracts of a store, and what they stand on. */
  private static final DescribedPredicate<JavaClass> CONTRACT = resideInAnyPackage(
          "io.election.testing")
      .and(simpleNameContaining("Contract").or(nameContaining("LeaseStoreFixture")));

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

  @Test
  void noPackagesDependOnEachOther() {
    slices().matching("io.(**)").should().beFreeOfCycles().check(CLASSES);
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
        .resideInAPackage("io.election.testing")
        .and(not(SPRING_TEST))
        .and(not(CONTRACT))
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(
            "io.election.testing", "io.election", "io.election.lease", "java..", "org.jspecify.."))
        .check(CLASSES);
    classes()
        .that(CONTRACT)
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(
            "io.election.testing",
            "io.election",
            "io.election.lease",
            "java..",
            "org.assertj..",
            "org.junit.jupiter.api..",
            "org.jspecify.."))
        .check(CLASSES);
    noClasses()
        .that(not(resideInAnyPackage("io.election.testing")))
        .should()
        .dependOnClassesThat(resideInAnyPackage("io.election.testing"))
        .check(CLASSES);
  }

  @Test
  void productionKeepsNoLeaseInMemory() {
    noClasses()
        .that(not(resideInAnyPackage("io.election.testing"))
            .and(not(simpleNameStartingWith(MemoryLeaseStore.class.getSimpleName()))))
        .should()
        .dependOnClassesThat(JavaClass.Predicates.equivalentTo(MemoryLeaseStore.class))
        .check(CLASSES);
  }

  @ParameterizedTest
  @CsvSource({
    "io.election.mysql, io.election.mysql",
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
            resideInAnyPackage("io.election", "io.election.lease", base, backend + "..")
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
    "mysql, CommitFence(\\$Held)?|ElectionDatabase(\\$(Login|Settings))?|MysqlLeaseStore(\\$SchemaMode)?",
    "keyvalue, KeyValueLeaseStore|KeyValueServer(\\$.*)?",
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
