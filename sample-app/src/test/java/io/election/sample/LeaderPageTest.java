package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.PastTerm;
import io.election.test.ScriptedElection;
import io.election.test.SimulatedElection;
import java.time.Duration;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.MediaType;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;

/** The page of a node, without a server. */
class LeaderPageTest {

  private static final Duration LEASE = Duration.ofSeconds(5);

  private final ScriptedElection election = new ScriptedElection("sample-app", (event) -> {});

  private JdbcClient jdbc;

  @BeforeEach
  void connect() {
    JdbcDataSource database = new JdbcDataSource();
    database.setUrl("jdbc:h2:mem:page;MODE=MySQL;DB_CLOSE_DELAY=-1");
    this.jdbc = JdbcClient.create(database);
  }

  @AfterEach
  void drop() {
    this.jdbc.sql("DROP ALL OBJECTS").update();
  }

  private MvcTestResult get(ElectionService election, String accepted) throws Exception {
    return MockMvcTester.of(new LeaderPage(election, this.jdbc, LEASE))
        .get()
        .uri("/")
        .header("Accept", accepted)
        .exchange();
  }

  private String html(ElectionService election) throws Exception {
    MvcTestResult page = get(election, "text/html,application/xhtml+xml,*/*;q=0.8");
    assertThat(page).hasStatusOk().hasContentTypeCompatibleWith(MediaType.TEXT_HTML);
    return page.getResponse().getContentAsString();
  }

  @Test
  void aFollowerLinksToThePageOfTheLeader() throws Exception {
    election.follow("host:8081:4712");
    assertThat(html(election))
        .contains("This node follows", "<a href=\"http://host:8081/\">host:8081:4712</a>");
  }

  @Test
  void namesAreTextAndOnlyThePagesOwnScriptRuns() throws Exception {
    election.follow("<img src=x onerror=alert(1)>");
    String html = html(election);
    assertThat(html).doesNotContain("<img").contains("&lt;img src=x onerror=alert(1)&gt;");
    assertThat(get(election, "text/html").getResponse().getHeader("Content-Security-Policy"))
        .startsWith("default-src 'none'; connect-src 'self'; script-src 'nonce-");
    assertThat(html).containsPattern("<script nonce=\"[0-9a-f-]{36}\">");
  }

  @Test
  void theLeaderShowsItsLeaseItsTermsAndTheRunsOfTheJob() throws Exception {
    SimulatedElection simulated = new SimulatedElection("sample-app", LEASE);
    ElectionOperations a = simulated.join("a", (event) -> {}).election();
    simulated.advance(LEASE);
    assertThat(html(a)).contains("not known"); // no run yet, so no table
    new ReportJob(a, this.jdbc).writeReport();
    assertThat(html(a))
        .contains("This node leads", "<progress max=\"5000\" value=\"", "<td>a<td>1")
        .doesNotContain("not known")
        .doesNotContainPattern("\\{[a-z]+}");
  }

  @Test
  void theActorThatEndedATermIsNotForEverybody() throws Exception {
    SimulatedElection simulated = new SimulatedElection("sample-app", LEASE);
    ElectionOperations a = simulated.join("a", (event) -> {}).election();
    simulated.advance(LEASE);
    a.forceElection(new AuditNote("operator-1", "ticket 4711"));
    simulated.advance(LEASE.multipliedBy(2));
    assertThat(a.history()).extracting(PastTerm::note).contains("ticket 4711");
    assertThat(html(a)).contains("RESIGNED").doesNotContain("operator-1", "ticket 4711");
  }

  @Test
  void everybodyButABrowserGetsPlainText() throws Exception {
    election.lead();
    MvcTestResult page = get(election, "*/*");
    assertThat(page).hasStatusOk().hasContentTypeCompatibleWith(MediaType.TEXT_PLAIN);
    assertThat(page.getResponse().getContentAsString())
        .startsWith(
            "this-node in the election sample-app\nThis node leads (term 1); the leader is this-node\n");
  }
}
