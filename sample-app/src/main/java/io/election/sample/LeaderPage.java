package io.election.sample;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.Leadership;
import io.election.PastTerm;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.io.ClassPathResource;
import org.springframework.dao.DataAccessException;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

/**
 * The page of this node: who leads, in which term, and what has happened. A browser gets HTML,
 * everyone else plain text. Copy this class and {@code leader-page.html} to have it in a service of
 * your own; without a table of job runs, leave {@link #runs} out.
 */
@RestController
class LeaderPage {

  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("MM-dd HH:mm:ss");

  /** A node id as it is by default: host, port and process id. */
  private static final Pattern NODE_ID = Pattern.compile("([\\w.-]+):(\\d+):\\d+");

  private final ElectionService election;

  private final JdbcClient jdbc;

  private final Duration lease;

  private final String html;

  LeaderPage(
      ElectionService election,
      JdbcClient jdbc,
      @Value("${as.election.lease-duration:10s}") Duration lease)
      throws IOException {
    this.election = election;
    this.jdbc = jdbc;
    this.lease = lease;
    this.html = new ClassPathResource("leader-page.html").getContentAsString(UTF_8);
  }

  /** Shows the page. */
  @GetMapping("/")
  ResponseEntity<String> show(@RequestHeader(name = "Accept", defaultValue = "") String accepted) {
    return accepted.contains("text/html") ? html() : text();
  }

  private ResponseEntity<String> html() {
    Optional<Leadership> leadership = election.leadership();
    String nonce = UUID.randomUUID().toString();
    String page = html.replace("{nonce}", nonce)
        .replace("{node}", escaped(election.nodeId()))
        .replace("{election}", escaped(election.serviceId()))
        .replace("{state}", escaped(state(leadership)))
        .replace("{leader}", leader())
        .replace("{term}", term())
        .replace("{remaining}", leadership.map(this::bar).orElse("only the leader knows"))
        .replace("{terms}", rows(terms()))
        .replace("{runs}", runs().map(LeaderPage::rows).orElse("<tr><td>not known"));
    return ResponseEntity.ok()
        .contentType(new MediaType(MediaType.TEXT_HTML, UTF_8))
        .header(
            "Content-Security-Policy",
            "default-src 'none'; connect-src 'self'; script-src 'nonce-%1$s'; style-src 'nonce-%1$s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                .formatted(nonce))
        .header("Cache-Control", "no-store")
        .body(page);
  }

  private ResponseEntity<String> text() {
    Optional<Leadership> leadership = election.leadership();
    String remaining = leadership
        .filter((now) -> hasLease(now))
        .map((now) -> ", lease for " + now.remaining().toMillis() + " ms")
        .orElse("");
    String text = """
        %s in the election %s
        %s (term %s%s); the leader is %s

        terms
        %s

        job runs
        %s
        """.formatted(
            election.nodeId(),
            election.serviceId(),
            state(leadership),
            term(),
            remaining,
            election.leaderId().orElse("not known"),
            lines(terms()),
            runs().map(LeaderPage::lines).orElse("not known"));
    return ResponseEntity.ok()
        .contentType(new MediaType(MediaType.TEXT_PLAIN, UTF_8))
        .body(text);
  }

  private static String state(Optional<Leadership> leadership) {
    return leadership.isPresent() ? "This node leads" : "This node follows";
  }

  private String term() {
    return election.term().isPresent() ? "" + election.term().getAsLong() : "not known";
  }

  /** Returns the leader, with a link to its page if its node id contains the address. */
  private String leader() {
    String leader = election.leaderId().orElse(null);
    if (leader == null) {
      return "not known";
    }
    Matcher place = NODE_ID.matcher(leader);
    return place.matches() && !leader.equals(election.nodeId())
        ? "<a href=\"http://%s:%s/\">%s</a>".formatted(place.group(1), place.group(2), leader)
        : escaped(leader);
  }

  private boolean hasLease(Leadership leadership) {
    return !leadership.remaining().equals(Leadership.UNLIMITED);
  }

  private String bar(Leadership leadership) {
    return hasLease(leadership)
        ? "<progress max=\"%s\" value=\"%2$s\"></progress> %2$s ms"
            .formatted(lease.toMillis(), leadership.remaining().toMillis())
        : "without end";
  }

  /** Returns the last ten terms, each with its leader, begin, end, and why it began and ended. */
  private List<List<String>> terms() {
    List<PastTerm> history =
        election instanceof ElectionOperations operations ? operations.history() : List.of();
    return history.stream()
        .limit(10)
        .map((past) -> List.of(
            "" + past.term(),
            past.leaderId(),
            time(past.from()),
            past.until() != null ? time(past.until()) : "",
            why(past)))
        .toList();
  }

  /** Leaves out who ended a term and what that person noted: anybody may see this page. */
  private static String why(PastTerm past) {
    return Stream.of(past.reason(), past.endReason())
        .filter((each) -> each != null && !each.isEmpty())
        .collect(Collectors.joining(", "));
  }

  /** Returns the last twenty runs, each with its time, node and term; empty if not known. */
  private Optional<List<List<String>>> runs() {
    try {
      return Optional.of(jdbc.sql(
              "SELECT ran_at, node_id, term FROM job_run ORDER BY id DESC LIMIT 20")
          .query((row, number) -> List.of(
              TIME.format(row.getObject(1, LocalDateTime.class)),
              row.getString(2),
              row.getString(3)))
          .list());
    } catch (DataAccessException ex) {
      return Optional.empty(); // no database, or no run yet
    }
  }

  private static String time(Instant instant) {
    return TIME.format(instant.atZone(ZoneId.systemDefault()));
  }

  private static String rows(List<List<String>> rows) {
    return rows.stream()
        .map((row) -> row.stream()
            .map(LeaderPage::escaped)
            .collect(Collectors.joining("<td>", "<tr><td>", "")))
        .collect(Collectors.joining("\n"));
  }

  private static String lines(List<List<String>> rows) {
    return rows.stream()
        .map((row) -> String.join("  ", row).strip())
        .collect(Collectors.joining("\n"));
  }

  private static String escaped(@Nullable String text) {
    return HtmlUtils.htmlEscape(text != null ? text : "");
  }
}
