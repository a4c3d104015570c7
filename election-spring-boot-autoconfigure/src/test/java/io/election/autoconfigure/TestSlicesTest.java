package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeaderOnly;
import io.election.test.AutoConfigureElection;
import io.election.test.ScriptedElection;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.data.jpa.test.autoconfigure.DataJpaTest;
import org.springframework.boot.jdbc.test.autoconfigure.JdbcTest;
import org.springframework.boot.test.autoconfigure.json.JsonTest;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.TestContextManager;

/** Tests of a part of the application guard their beans like the application. */
class TestSlicesTest {

  @Nested
  @DataJpaTest(
      properties = {
        "as.election.services=reports",
        "spring.liquibase.enabled=false",
        "spring.flyway.enabled=false"
      })
  @AutoConfigureElection
  @Import(Job.class)
  class OfRepositories extends WithElection {}

  @Nested
  @WebMvcTest(properties = "as.election.services=reports")
  @AutoConfigureElection
  @Import(Job.class)
  class OfControllers extends WithElection {}

  @Nested
  @JsonTest(properties = "as.election.services=reports")
  @AutoConfigureElection
  @Import(Job.class)
  class OfJson extends WithElection {}

  @Nested
  @JdbcTest(
      properties = {
        "as.election.services=reports",
        "spring.liquibase.enabled=false",
        "spring.flyway.enabled=false"
      })
  @AutoConfigureElection
  @Import(Job.class)
  class OfJdbc extends WithElection {}

  abstract static class WithElection {

    @Autowired
    ScriptedElection election;

    @Autowired
    Job job;

    @Test
    void followerSkipsAndLeaderRuns() {
      this.election.follow("b");
      assertThat(this.job.work()).isNull();
      this.election.lead();
      assertThat(this.job.work()).isEqualTo("done");
    }
  }

  @ParameterizedTest
  @ValueSource(classes = {Repositories.class, Controllers.class, Json.class, Jdbc.class})
  void withoutAnElectionTheTestFailsAndNamesTheRemedy(Class<?> test) {
    TestContextManager manager = new TestContextManager(test);
    assertThatThrownBy(() -> manager.getTestContext().getApplicationContext())
        .rootCause()
        .hasMessageContaining("Job.work() means the default election")
        .hasMessageContaining("@AutoConfigureElection");
  }

  @ParameterizedTest
  @ValueSource(classes = {Unguarded.class})
  void withoutAGuardedBeanNoElectionIsNeeded(Class<?> test) {
    assertThat(new TestContextManager(test).getTestContext().getApplicationContext())
        .isNotNull();
  }

  @DataJpaTest(properties = {"spring.liquibase.enabled=false", "spring.flyway.enabled=false"})
  @Import(Job.class)
  static class Repositories {}

  @WebMvcTest
  @Import(Job.class)
  static class Controllers {}

  @JsonTest
  @Import(Job.class)
  static class Json {}

  @JdbcTest(properties = {"spring.liquibase.enabled=false", "spring.flyway.enabled=false"})
  @Import(Job.class)
  static class Jdbc {}

  @JsonTest
  static class Unguarded {}

  @SpringBootConfiguration(proxyBeanMethods = false)
  @org.springframework.boot.autoconfigure.EnableAutoConfiguration
  static class Application {}

  static class Job {
    @LeaderOnly
    public String work() {
      return "done";
    }
  }
}
