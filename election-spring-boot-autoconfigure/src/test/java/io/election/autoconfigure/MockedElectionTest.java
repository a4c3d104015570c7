package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willReturn;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.jdbc.ElectionDatabase;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.TestPropertySource;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.context.bean.override.mockito.MockitoSpyBean;

/** Mocked elections in an application whose database is H2. */
@SpringBootTest(
    webEnvironment = WebEnvironment.NONE,
    classes = MockedElectionTest.Application.class,
    properties = "spring.application.name=billing")
class MockedElectionTest {

  abstract static class MockTest {

    @MockitoBean
    ElectionService election;

    @Autowired
    Job job;

    @Autowired
    ApplicationContext context;

    @Test
    void decidesWhetherAJobRuns() {
      assertThat(runs(this.job)).isZero();
      given(this.election.isLeader()).willReturn(true);
      assertThat(runs(this.job)).isEqualTo(2);
      assertThat(this.context.containsBean("leaderEndpoint")).isTrue();
      assertThat(new EndpointAccess(this.context).elections().get("elections"))
          .asString()
          .contains("default", "leader=true");
    }
  }

  @Nested
  class Mocked extends MockTest {

    @Test
    void needsNoDatabase() {
      assertThat(this.context.getBeansOfType(ElectionDatabase.class)).isEmpty();
      assertThat(this.context.getBeansOfType(ElectionBackend.class)).isEmpty();
    }
  }

  @Nested
  class MockedWithItsOperations {

    @MockitoBean
    ElectionOperations election;

    @Autowired
    Job job;

    @Autowired
    ApplicationContext context;

    @Test
    void areJobsAndOperatorsOfTheMock() throws Exception {
      assertThat(this.context.getBeansOfType(ElectionBackend.class)).isEmpty();
      assertThat(this.context.getBean(ElectionService.class)).isSameAs(this.election);
      given(this.election.isLeader()).willReturn(true);
      assertThat(runs(this.job)).isEqualTo(2);
      new EndpointAccess(this.context).designate("default", "b", true);
      then(this.election).should().designate(eq("b"), any());
    }
  }

  @Nested
  @TestPropertySource(
      properties = {
        "as.election.algorithm=Etcd",
        "as.election.etcd.endpoints=http://127.0.0.1:1",
        "as.election.fail-fast=true"
      })
  class MockedInsteadOfEtcd extends MockTest {}

  @Nested
  @TestPropertySource(
      properties = {
        "as.election.algorithm=Zookeeper",
        "as.election.zookeeper.connect-string=127.0.0.1:1",
        "as.election.fail-fast=true"
      })
  class MockedInsteadOfZookeeper extends MockTest {}

  @Nested
  @TestPropertySource(
      properties = {
        "as.election.algorithm=Zookeeper, Mysql",
        "as.election.zookeeper.connect-string=127.0.0.1:1",
        "as.election.fail-fast=true"
      })
  class MockedInsteadOfAList extends MockTest {}

  @Nested
  @TestPropertySource(properties = "as.election.enabled=false")
  class MockedAndDisabled extends MockTest {}

  @Nested
  @TestPropertySource(properties = {"as.election.enabled=false", "as.election.services=reports"})
  class OneOfTwoMocked {

    @MockitoBean(name = "electionService:reports")
    ElectionService reports;

    @Autowired
    ElectionService election;

    @Autowired
    Elections elections;

    @Test
    void leavesTheOtherAsItIs() {
      assertThat(this.election.isLeader()).isTrue();
      assertThat(this.elections.all())
          .containsEntry("billing", this.election)
          .containsEntry("reports", this.reports);
    }
  }

  @Nested
  @TestPropertySource(
      properties = {
        "as.election.node-id=a",
        "as.election.algorithm=ManualAllocation",
        "as.election.manual.leader-id=a"
      })
  class Spied {

    @MockitoSpyBean
    ElectionService election;

    @Autowired
    Job job;

    @Test
    void doesNotRunAJobWhereItIsToldNotToLead() {
      assertThat(runs(this.job)).isEqualTo(2);
      willReturn(false).given(this.election).isLeader();
      assertThat(runs(this.job)).isZero();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    DataSourceAutoConfiguration.class,
    MetricsAutoConfiguration.class,
    CompositeMeterRegistryAutoConfiguration.class,
    SimpleMetricsExportAutoConfiguration.class
  })
  @Import({MysqlNode.Starter.class, Job.class})
  static class Application {}

  /** Calls both methods, and returns how many of the calls ran. */
  private static int runs(Job job) {
    int before = job.runs();
    job.run();
    job.poll();
    return job.runs() - before;
  }

  static class Job {

    private final AtomicInteger runs = new AtomicInteger();

    @LeaderOnly
    public void run() {
      this.runs.incrementAndGet();
    }

    @LeaderOnly(interruptOnLoss = true)
    public void poll() {
      this.runs.incrementAndGet();
    }

    int runs() {
      return this.runs.get();
    }
  }
}
