package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipLostEvent;
import io.election.test.ScriptedElection;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The test decides whether the job's node leads. It runs the job itself, since there is no scheduler. */
@SpringBootTest(
    webEnvironment = WebEnvironment.NONE,
    properties = "spring.datasource.url=jdbc:h2:mem:report;MODE=MySQL")
class ReportJobTest {

  @Autowired
  ScriptedElection election;

  @Autowired
  ReportJob job;

  @Autowired
  JdbcClient jdbc;

  @Test
  void theReportIsWrittenWhileThisNodeLeads() {
    job.writeReport(); // no node leads yet

    election.lead();
    job.writeReport();
    assertThat(terms()).containsExactly(1L);

    election.lose(LeadershipLostEvent.Reason.EXPIRED);
    job.writeReport();
    assertThat(terms()).containsExactly(1L);

    election.lead();
    job.writeReport();
    assertThat(terms()).containsExactly(1L, 2L);
  }

  private List<Long> terms() {
    return jdbc.sql("SELECT term FROM job_run ORDER BY id").query(Long.class).list();
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(ReportJob.class)
  static class OneNode {

    @Bean
    ScriptedElection election(ApplicationEventPublisher events) {
      return new ScriptedElection("sample-app", events::publishEvent);
    }
  }
}
