package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.options.ColorScheme;
import io.election.embedded.MariaDbPrograms;
import io.election.test.process.Claim;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

/** The console in a real browser, with real nodes behind it. */
class ConsoleIT {

  private static final Path CHROMIUM = Path.of("/usr/bin/chromium");

  private static final Duration LONG = Duration.ofSeconds(60);

  private static ConfigurableApplicationContext application;
  private static Playwright playwright;
  private static Page page;
  private static final List<String> ERRORS = new ArrayList<>();

  @BeforeAll
  static void open() {
    assumeTrue(Files.isExecutable(CHROMIUM), "there is no " + CHROMIUM);
    assumeTrue(MariaDbPrograms.existForThisPlatform(), "there is no embedded MariaDB");
    String[] arguments = {"--server.port=0", "--nodes=3", "--lease=3s", "--renew=500ms"};
    application = PlaygroundApplication.start(Options.parse(arguments), arguments);
    playwright = Playwright.create(
        new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
    Browser browser = playwright
        .chromium()
        .launch(new BrowserType.LaunchOptions()
            .setExecutablePath(CHROMIUM)
            .setArgs(List.of("--no-sandbox")));
    page = browser.newPage(new Browser.NewPageOptions().setViewportSize(1280, 1000));
    page.onConsoleMessage(message -> {
      if (message.type().equals("error")) {
        ERRORS.add(message.text());
      }
    });
    page.onPageError(ERRORS::add);
    page.navigate(
        "http://127.0.0.1:" + application.getEnvironment().getProperty("local.server.port") + "/");
  }

  @AfterAll
  static void close() {
    if (playwright != null) {
      playwright.close();
    }
    if (application != null) {
      application.close();
    }
  }

  @Test
  void showsWhatTheNodesClaim() {
    String first = awaitLeader(name -> true);
    screenshots();

    press(first, "kill");
    String second = awaitLeader(name -> !name.equals(first));
    assertThat(awaitLine(first + " was killed; its lease ended after"))
        .contains(second + " led")
        .contains("nobody had led for " + gapBefore(second))
        .endsWith("overlap 0 ms. why");
    press(first, "start");

    card(second).getByLabel("seconds of Pause").fill("5");
    press(second, "pause");
    String third = awaitLeader(name -> !name.equals(second));
    awaitLine("when it woke it said no at its first question");

    press(third, "cut-both");
    String fourth = awaitLeader(name -> !name.equals(third));
    awaitLine(third + " was cut off from the database; its lease ended after");
    press(third, "heal");

    press(third, "lead");
    assertThat(awaitLeader(name -> !name.equals(fourth))).isEqualTo(third);
    awaitLine(third + " leads in term");

    card("The database").getByLabel("value of Edit the row").fill("<img src=x onerror=alert(1)>");
    press("The database", "edit-row");
    awaitLine("got another leader_id by hand; its lease ended");
    press("The database", "delete-row");
    awaitLine("which a visitor deleted; its lease ended");
    awaitLeader(name -> true);

    assertThat(page.locator("#overlaps").textContent())
        .isEqualTo("Two leaders at once: 0 times, 0 ms");
    assertThat(page.locator("img").count()).isZero();
    assertThat(ERRORS).isEmpty();
    page.screenshot(new Page.ScreenshotOptions()
        .setFullPage(true)
        .setPath(Path.of("target", "screenshots", "end.png")));
  }

  /** Compares the log with the claims: what it says about a gap is what they say. */
  private static String gapBefore(String node) {
    List<Claim> claims = application.getBean(Playground.class).members().stream()
        .flatMap(member -> member.claims(Long.MIN_VALUE).stream())
        .sorted(Comparator.comparingLong(Claim::from))
        .toList();
    Claim last = claims.get(claims.size() - 1);
    assertThat(last.node()).isEqualTo(node);
    return "%.1f s".formatted((last.from() - claims.get(claims.size() - 2).to()) / 1e9);
  }

  private static String awaitLeader(Predicate<String> wanted) {
    await()
        .atMost(LONG)
        .until(() -> leader() != null && wanted.test(Objects.requireNonNull(leader())));
    return Objects.requireNonNull(leader());
  }

  private static String leader() {
    String text = page.locator("#leader").textContent();
    return text.contains(" leads in term ") ? text.replaceFirst(" leads.*", "") : null;
  }

  private static String awaitLine(String part) {
    Locator line = page.locator("#log li")
        .filter(new Locator.FilterOptions().setHasText(part))
        .first();
    line.waitFor(new Locator.WaitForOptions().setTimeout(LONG.toMillis()));
    return line.textContent();
  }

  private static Locator card(String name) {
    return page.locator("article")
        .filter(new Locator.FilterOptions()
            .setHas(page.locator("h3", new Page.LocatorOptions().setHasText(name))));
  }

  private static void press(String card, String action) {
    Locator button = card(card).locator("[data-action=" + action + "][aria-disabled=false]");
    button.focus();
    assertThat(card(card).locator(".explanation").textContent()).hasSizeGreaterThan(40);
    button.press("Enter");
  }

  private static void screenshots() {
    Path folder = Path.of("target", "screenshots");
    for (ColorScheme scheme : List.of(ColorScheme.LIGHT, ColorScheme.DARK)) {
      page.emulateMedia(new Page.EmulateMediaOptions().setColorScheme(scheme));
      screenshot(folder.resolve(scheme.name().toLowerCase(java.util.Locale.ROOT) + ".png"));
    }
    page.setViewportSize(390, 844);
    screenshot(folder.resolve("phone.png"));
    assertThat(page.evaluate("document.documentElement.scrollWidth")).isEqualTo(390);
    page.setViewportSize(1280, 1000);
  }

  private static void screenshot(Path path) {
    page.screenshot(new Page.ScreenshotOptions().setFullPage(true).setPath(path));
  }
}
