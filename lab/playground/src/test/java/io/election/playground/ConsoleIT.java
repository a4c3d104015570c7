package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import io.election.support.process.Claim;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** The console in a real browser, with real nodes behind it, which the tests use in turn. */
@Tag("long")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ConsoleIT {

  private static final String DATABASE = "The database";

  private static final String MARKUP = "<img src=x onerror=alert(1)>";

  private static ConsolePage console;

  @BeforeAll
  static void open() {
    console = ConsolePage.open(
        "--server.port=0", "--nodes=3", "--lease=3500ms", "--renew=1s", "--show-a-wrong-one");
  }

  @AfterAll
  static void close() {
    ConsolePage.close(console);
  }

  @Test
  @Order(1)
  void isReadableInEveryShape() {
    console.awaitLeader();
    Path folder = Path.of("target", "screenshots");
    Page page = console.page();
    for (ColorScheme scheme : List.of(ColorScheme.DARK, ColorScheme.LIGHT)) {
      page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(scheme));
      console.screenshot(folder.resolve(scheme.name().toLowerCase(Locale.ROOT) + ".png"));
    }
    for (int width : List.of(390, 320)) { // a phone, and a screen of 1280 pixels at 400 %
      page.setViewportSize(width, 844);
      console.screenshot(folder.resolve("width-" + width + ".png"));
      assertThat(page.evaluate("document.documentElement.scrollWidth")).isEqualTo(width);
    }
    page.evaluate("scrollTo(0, document.body.scrollHeight)");
    assertThat(page.locator("#leader").boundingBox().y)
        .as("who leads, always in sight")
        .isZero();
    page.setViewportSize(1280, 1000);
  }

  @Test
  @Order(1)
  void eachNodeShowsThreeActionsAndTheOthersBehindMore() {
    console.awaitLeader();
    for (Member member : console.playground().members()) {
      Locator card = console.card(member.name());
      card.locator("[data-action=kill]").waitFor();
      Locator buttons = card.locator("button:visible");
      assertThat(buttons.allTextContents()).containsExactly("kill -9", "Pause", "Cut off");
      card.locator("summary").press("Enter");
      assertThat(buttons.allTextContents())
          .contains("Stop", "Lose answers", "Make leader", "Stand aside", "Back")
          .hasSize(8);
      card.locator("summary").press("Enter");
      assertThat(buttons.count()).isEqualTo(3);
    }
  }

  /** A finger cannot point without a tap. */
  @Test
  @Order(1)
  void aTapTellsWhatAButtonDoesAndTheSecondOneDoesIt() {
    String leader = console.awaitLeader();
    Page phone = console
        .page()
        .context()
        .browser()
        .newPage(new Browser.NewPageOptions().setHasTouch(true).setViewportSize(390, 844));
    phone.navigate(console.url());
    Locator card = phone.locator("article[aria-label='" + leader + "']");
    Locator hint = card.locator(".explanation");
    card.locator("summary").tap();
    card.locator("[data-action=back]").tap(new Locator.TapOptions().setForce(true));
    assertThat(hint.textContent()).contains("stands for election again").contains("Off now: ");
    card.locator("[data-action=stop]").tap();
    assertThat(hint.textContent()).contains("ends cleanly").endsWith(" Tap again to do it.");
    assertThat(hint.boundingBox().height).isPositive();
    Member member = Objects.requireNonNull(console.playground().member(leader));
    assertThat(member.state()).isEqualTo(Member.State.RUNNING);
    card.locator("[data-action=stop]").tap();
    console.awaitLine(leader + " was stopped");
    console.awaitLine(leader + " stopped its poller, in");
    console.awaitLeaderOtherThan(leader);
    phone.context().close();
    console.press(leader, "start");
    console.awaitLine(leader + " was started again");
  }

  @Test
  @Order(2)
  void aKilledLeaderIsFollowedByAnotherOne() {
    String first = console.awaitLeader();
    console.press(first, "kill");
    console.awaitNobodyFor(Duration.ofSeconds(1));
    console.screenshot(Path.of("target", "screenshots", "nobody.png"));
    Page page = console.page();
    assertThat(
            page.evaluate("parseInt(getComputedStyle(document.getElementById('leader')).fontSize)"))
        .as("pixels")
        .isEqualTo(35);
    String second = console.awaitLeaderOtherThan(first);
    assertThat(console.awaitLine(first + " was killed; its lease ended after"))
        .contains(second + " led")
        .contains(console.gapBefore(second))
        .endsWith("overlap 0 ms. why");
    console.awaitLine(second + " started its poller, in term");
    console.press(first, "start");
    console.awaitLine(first + " was started again");
  }

  @Test
  @Order(3)
  void aPausedLeaderSaysNoWhenItWakesUpAndHandWrittenSqlSaysYes() {
    console.awaitAllNodes();
    String leader = console.awaitLeader();
    await().until(() -> console.playground().members().stream().anyMatch(Member::leadsWrongly));
    String byHand = console.playground().members().stream()
        .filter(Member::leadsWrongly)
        .findFirst()
        .orElseThrow()
        .name();
    if (!leader.equals(byHand)) {
      console.press(byHand, "lead");
      console.awaitLeaderOtherThan(leader);
    }
    console.fill(byHand, "seconds of Pause", "6");
    console.press(byHand, "pause");
    String next = console.awaitLeaderOtherThan(byHand);
    assertThat(console.awaitLine(byHand + " was paused; its lease ended after"))
        .contains(console.gapBefore(next));
    console.awaitLine("when it woke it said no at its first question");
    console.awaitLine("The hand-written SQL: ");
    await()
        .until(
            () -> !console.page().locator("#wrong-overlaps").textContent().contains(": 0 times"));
  }

  @Test
  @Order(4)
  void aLeaderThatIsCutOffStopsByItsOwnClock() {
    String leader = console.awaitLeader();
    console.press(leader, "cut-both");
    String next = console.awaitLeaderOtherThan(leader);
    assertThat(console.awaitLine(leader + " was cut off from the database; its lease ended after"))
        .contains(console.gapBefore(next));
    console.press(leader, "heal");
    console.awaitLine(leader + " reaches the database again");
    console.press(leader, "lead");
    assertThat(console.awaitLeaderOtherThan(next)).isEqualTo(leader);
    console.awaitLine(leader + " leads in term");
  }

  @Test
  @Order(5)
  void whatVisitorsWriteIntoTheRecordIsText() {
    console.awaitLeader();
    console.fill(DATABASE, "value of Edit the row", MARKUP);
    console.press(DATABASE, "edit-row");
    console.awaitLine("got another leader_id by hand; its lease ended");
    console.press(DATABASE, "delete-row");
    assertThat(console.awaitLine("which a visitor deleted; its lease ended"))
        .contains(console.gapBefore(console.awaitLeader()));
    assertThat(console.page().locator("img").count()).isZero();
  }

  @Test
  @Order(6)
  void aButtonThatIsPressedTwentyTimesActsOnce() throws Exception {
    String leader = console.awaitLeader();
    String wish = "{\"target\":\"%s\",\"action\":\"kill\"}".formatted(leader);
    Map<Integer, Integer> answers = new java.util.TreeMap<>();
    for (int i = 0; i < 20; i++) {
      answers.merge(post(wish, "application/json", null), 1, Integer::sum);
    }
    assertThat(answers).isEqualTo(Map.of(200, 1, 409, 19));
    assertThat(post(wish, "application/json", "http://evil.example")).isEqualTo(403);
    assertThat(post(wish, "text/plain", null)).isEqualTo(415);
    console.awaitLeaderOtherThan(leader);
  }

  /** A page elsewhere may reach a node by a name that it has pointed at this machine. */
  @Test
  @Order(7)
  void nodesAnswerNoOtherPageAndShowNoPassword() throws Exception {
    Member node = Objects.requireNonNull(console.playground().member(console.awaitLeader()));
    int port = URI.create(node.url()).getPort();
    String own = "127.0.0.1:" + port;
    assertThat(ask(port, own, null)).contains(" 200 ").doesNotContain("Content-Security-Policy");
    assertThat(ask(port, own, "http://" + own)).contains(" 200 ");
    assertThat(ask(port, "evil.example:" + port, null)).contains(" 403 ");
    assertThat(ask(port, own, "http://evil.example")).contains(" 403 ");
    assertThat(ask(port, own, console.url().replaceFirst("/$", ""))).contains(" 403 ");
    Database database = Objects.requireNonNull(console.playground().database());
    assertThat(Files.readString(Path.of("/proc", "" + node.pid(), "cmdline")))
        .contains("--spring.datasource.username")
        .doesNotContain(database.password());
  }

  @Test
  @Order(7)
  void theUrlOfAVisitorsDatabaseStaysAsItIs() throws Exception {
    Database known = Objects.requireNonNull(console.playground().database());
    try (Database given = MySqlDatabase.running(known.url(), known.username(), known.password())) {
      assertThat(given.url()).isEqualTo(known.url());
    }
  }

  private static String ask(int port, String host, String origin) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      String request = "GET /actuator/leader HTTP/1.1\r\nHost: " + host + "\r\n"
          + (origin != null ? "Origin: " + origin + "\r\n" : "") + "Connection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static int post(String wish, String type, String origin) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(console.url() + "actions"))
        .timeout(Duration.ofSeconds(10))
        .header("Content-Type", type)
        .POST(HttpRequest.BodyPublishers.ofString(wish));
    if (origin != null) {
      request.header("Origin", origin);
    }
    return HttpClient.newHttpClient()
        .send(request.build(), HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  @Test
  @Order(8)
  void theSavedPictureHasTheClaims() throws IOException {
    for (int i = 0; i < 3; i++) {
      console.page().locator("#out").click(); // to six minutes
    }
    String picture = console.savedPicture();
    List<Claim> claims = console.claims();
    // The last claim goes on.
    for (Claim claim : claims.subList(0, claims.size() - 1)) {
      assertThat(picture)
          .contains("%s led in term %d for %.1f ms"
              .formatted(claim.node(), claim.term(), (claim.to() - claim.from()) / 1e6));
    }
    assertThat(picture).startsWith("<svg").doesNotContain("script");
  }

  @Test
  @Order(9)
  void theLinksOfTheLogLeadToAHeading() {
    Page page = console.page();
    List<?> links = (List<?>)
        page.evaluate("[...new Set([...document.querySelectorAll('#log a')].map(a => a.href))]");
    assertThat(links).hasSizeGreaterThan(2);
    Page docs = page.context().browser().newPage();
    for (Object link : links) {
      // Otherwise there is no answer to a link to another heading of the same page.
      docs.navigate("about:blank");
      assertThat(docs.navigate("" + link).status()).isEqualTo(200);
      assertThat(docs.evaluate("document.querySelector(location.hash || 'h1') !== null"))
          .isEqualTo(true);
    }
    docs.close();
  }

  @Test
  @Order(10)
  void nobodyLedTwiceAndTheBrowserComplainedOfNothing() {
    assertThat(console.page().locator("#overlaps").textContent())
        .isEqualTo("Two leaders at once: 0 times, 0 ms");
    assertThat(console.errors()).isEmpty();
    console.screenshot(Path.of("target", "screenshots", "end.png"));
  }
}
