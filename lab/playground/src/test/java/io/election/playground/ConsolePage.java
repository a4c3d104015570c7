package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import io.election.embedded.MariaDbPrograms;
import io.election.support.Tool;
import io.election.support.process.Claim;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;

/** A playground with real nodes, and its console in a real browser. */
final class ConsolePage implements AutoCloseable {

  private static final Duration LONG = Duration.ofSeconds(60);

  private final ConfigurableApplicationContext application;
  private final Playwright playwright;
  private final Page page;
  private final List<String> errors = new ArrayList<>();

  private ConsolePage(String... arguments) {
    this.application = PlaygroundApplication.start(Options.parse(arguments), arguments);
    this.playwright = Playwright.create(
        new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
    Browser browser = playwright
        .chromium()
        .launch(new BrowserType.LaunchOptions()
            .setExecutablePath(Tool.CHROMIUM.path().orElseThrow())
            .setArgs(List.of("--no-sandbox", "--disable-gpu", "--disable-background-networking")));
    this.page = browser.newPage(new Browser.NewPageOptions().setViewportSize(1280, 1000));
    page.onConsoleMessage((message) -> {
      if (message.type().equals("error")) {
        errors.add(message.text());
      }
    });
    page.onPageError(errors::add);
    page.navigate(url());
  }

  /** Starts a playground and opens its page; skips the test where that is not possible. */
  static ConsolePage open(String... arguments) {
    Tool.CHROMIUM.assumeWorks();
    assumeTrue(MariaDbPrograms.existForThisPlatform(), "there is no embedded MariaDB");
    return new ConsolePage(arguments);
  }

  Page page() {
    return page;
  }

  Playground playground() {
    return application.getBean(Playground.class);
  }

  String url() {
    return "http://127.0.0.1:" + application.getEnvironment().getProperty("local.server.port")
        + "/";
  }

  /** What the browser has complained about. */
  List<String> errors() {
    return errors;
  }

  /** Waits until another node leads than the one given. */
  String awaitLeaderOtherThan(String name) {
    return awaitLeader((leader) -> !leader.equals(name));
  }

  String awaitLeader() {
    return awaitLeader((leader) -> true);
  }

  /** Waits until each node has started, and stands for election. */
  void awaitAllNodes() {
    await()
        .atMost(LONG)
        .until(() -> playground().members().stream()
            .allMatch((member) -> member.state() == Member.State.RUNNING));
  }

  private String awaitLeader(Predicate<String> wanted) {
    return await()
        .atMost(LONG)
        .until(this::leader, (leader) -> !leader.isEmpty() && wanted.test(leader));
  }

  private String leader() {
    String text = page.locator("#leader").textContent();
    return text.contains(" leads in term ") ? text.replaceFirst(" leads.*", "") : "";
  }

  /** Waits for a line of the log; the newest one, if there are several. */
  String awaitLine(String part) {
    Locator line = page.locator("#log li")
        .filter(new Locator.FilterOptions().setHasText(part))
        .first();
    line.waitFor(new Locator.WaitForOptions().setTimeout(LONG.toMillis()));
    return line.textContent();
  }

  Locator card(String name) {
    return page.locator("article[aria-label='" + name + "']");
  }

  void fill(String card, String label, String value) {
    openMore(card, page.getByLabel(label));
    card(card).getByLabel(label).fill(value);
  }

  /** Presses a button by the keyboard, after reading what it will do. */
  void press(String card, String action) {
    Locator button = card(card).locator("[data-action=" + action + "][aria-disabled=false]");
    openMore(card, page.locator("[data-action=" + action + "]"));
    button.focus();
    assertThat(card(card).locator(".explanation").textContent()).contains("never two leaders");
    button.press("Enter");
  }

  /** Shows what is behind "more", if this is there. */
  private void openMore(String card, Locator wanted) {
    Locator closed = card(card)
        .locator("details:not([open])")
        .filter(new Locator.FilterOptions().setHas(wanted));
    if (closed.count() > 0) {
      closed.locator("summary").press("Enter");
    }
  }

  /** Waits until the page says that nobody has led for a time. */
  void awaitNobodyFor(Duration time) {
    Locator banner = page.locator("#leader.nobody");
    banner.waitFor();
    await().atMost(LONG).until(() -> {
      String text = banner.textContent();
      assertThat(text).matches("Nobody leads for \\d+\\.\\d s");
      return Double.parseDouble(text.replaceAll("[^\\d.]", "")) * 1000 >= time.toMillis();
    });
  }

  /** All claims of all nodes so far, by their own processes. */
  List<Claim> claims() {
    return playground().members().stream()
        .flatMap((member) -> member.claims(Long.MIN_VALUE).stream())
        .sorted(Comparator.comparingLong(Claim::from))
        .toList();
  }

  /** How long no node led before this one did, in the words of the log. */
  String gapBefore(String node) {
    List<Claim> claims = claims();
    Claim last = claims.get(claims.size() - 1);
    assertThat(last.node()).isEqualTo(node);
    return "no node had led for "
        + Story.seconds(last.from() - claims.get(claims.size() - 2).to());
  }

  void screenshot(Path path) {
    page.screenshot(new Page.ScreenshotOptions().setFullPage(true).setPath(path));
  }

  /** Presses the button that saves the timeline. */
  String savedPicture() throws java.io.IOException {
    return Files.readString(
        page.waitForDownload(() -> page.locator("#save").click()).path());
  }

  @Override
  public void close() {
    playwright.close();
    application.close();
  }

  static void close(@Nullable ConsolePage console) {
    if (console != null) {
      console.close();
    }
  }
}
