package consumer;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.AutoConfigureElection;
import io.election.test.ScriptedElection;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest(
    properties = {"spring.application.name=consumer", "spring.datasource.url=jdbc:${database}://localhost:1/none"})
@AutoConfigureElection
class ApplicationTest {

  @Autowired ScriptedElection election;
  @Autowired Application application;

  @Test
  void worksOnlyWhileItLeads() {
    this.application.work();
    assertThat(this.application.runs()).isZero();
    this.election.lead();
    this.application.work();
    assertThat(this.application.runs()).isEqualTo(1);
  }
}
