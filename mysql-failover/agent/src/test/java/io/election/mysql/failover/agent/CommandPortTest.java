package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.election.store.LeaseStoreException;
import io.election.support.TestServer;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.http.converter.autoconfigure.HttpMessageConvertersAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.servlet.TomcatServletWebServerAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** Commands need their own port, the token, JSON, and no browser. Checks need nothing. */
class CommandPortTest {

  private static final String TOKEN = "a-token-of-some-length";

  private static final String BEARER = "Bearer " + TOKEN;

  private static final String JSON = "application/json";

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private static Agent agent = mock();
  private static SourceDuty duty = mock();
  private static Registry registry = mock();
  private static FirstRecord first = mock();

  private final int commands = TestServer.freePort();
  private final int checks = TestServer.freePort();

  @TempDir
  private Path folder;

  private ConfigurableApplicationContext application;

  @EnableConfigurationProperties(CommandProperties.class)
  @ImportAutoConfiguration({
    TomcatServletWebServerAutoConfiguration.class,
    DispatcherServletAutoConfiguration.class,
    WebMvcAutoConfiguration.class,
    HttpMessageConvertersAutoConfiguration.class,
    ErrorMvcAutoConfiguration.class
  })
  @Import({CheckController.class, CommandPort.class})
  static class Web {

    @Bean
    Agent agent() {
      return agent;
    }

    @Bean
    Registry registry() {
      return registry;
    }

    @Bean
    SourceDuty duty() {
      return duty;
    }

    @Bean
    FirstRecord first() {
      return first;
    }
  }

  @BeforeEach
  void mockServer() {
    agent = mock();
    duty = mock();
    registry = mock();
    first = mock();
    when(agent.status()).thenReturn(new Status(Status.Role.SOURCE, "", 0));
    ServerState server = mock();
    when(server.administrators()).thenReturn("boss");
    AgentState.Reference state = new AgentState.Reference(0);
    state.change((before) -> before
        .with(new Rehearsal("too few positions", 0, 0))
        .with(new AgentState.Duty("", server, 0)));
    when(agent.state()).thenReturn(state.get());
    when(duty.switchOver("b")).thenReturn(CompletableFuture.completedFuture("b is the source"));
    when(duty.switchOver("a"))
        .thenReturn(
            CompletableFuture.failedFuture(new IllegalStateException("a is the source already")));
  }

  private void start(String token) throws Exception {
    Path file = Files.writeString(this.folder.resolve("token"), token + "\n");
    startWith("--as.failover.commands.token-file=" + file);
  }

  private void startWith(String... arguments) {
    this.application = new SpringApplicationBuilder(Web.class)
        .properties("server.port=" + this.checks, "as.failover.commands.port=" + this.commands)
        .run(arguments);
  }

  @AfterEach
  void stop() {
    if (this.application != null) {
      this.application.close();
    }
  }

  private static HttpResponse<String> send(
      String method, int port, String path, String body, String... headers) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:%s%s".formatted(port, path)))
        .method(method, BodyPublishers.ofString(body));
    return HTTP.send(
        (headers.length == 0 ? request : request.headers(headers)).build(),
        BodyHandlers.ofString());
  }

  private int command(String path, String body, String... headers) throws Exception {
    return send("POST", this.commands, path, body, headers).statusCode();
  }

  @Test
  void aCommandWithTheTokenAndInJsonIsAccepted() throws Exception {
    start(TOKEN);
    String[] headers = {"Authorization", BEARER, "Content-Type", JSON};
    assertThat(command("/rebuild", "{}", headers)).isEqualTo(202);
    HttpResponse<String> moved =
        send("POST", this.commands, "/switch-over", "{\"to\":\"b\"}", headers);
    assertThat(moved.statusCode()).isEqualTo(202);
    assertThat(moved.body()).isEqualTo("b is the source");
    HttpResponse<String> refused =
        send("POST", this.commands, "/switch-over", "{\"to\":\"a\"}", headers);
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(refused.body()).isEqualTo("a is the source already");
    verify(agent).rebuild();
    assertThat(command("/pause", "{\"reason\":\"an upgrade\"}", headers)).isEqualTo(202);
    verify(registry).pause("an upgrade");
    assertThat(command("/pause", "{}", headers)).isEqualTo(202);
    verify(registry).pause("no reason given");
    assertThat(command("/resume", "{}", headers)).isEqualTo(202);
    verify(registry).pause("");
    assertThat(command("/initialize", "{\"acknowledging\":2}", headers)).isEqualTo(202);
    verify(first).write(2);
    doThrow(new LeaseStoreException("etcd is gone")).when(registry).pause("");
    assertThat(command("/resume", "{}", headers)).isEqualTo(503);
  }

  @Test
  void otherRequestsAreRefusedAndDoNothing() throws Exception {
    start(TOKEN);
    for (String[] headers : new String[][] {
      {"Content-Type", JSON},
      {"Content-Type", JSON, "Authorization", BEARER.substring(0, BEARER.length() - 1)},
      {"Content-Type", JSON, "Authorization", BEARER + "x"},
      {"Content-Type", JSON, "Authorization", TOKEN},
      {"Content-Type", JSON, "Authorization", "Bearer "}
    }) {
      assertThat(command("/rebuild", "{}", headers)).isEqualTo(401);
    }
    assertThat(send("GET", this.commands, "/check", "").statusCode()).isEqualTo(401);
    String[] foreign = {
      "Authorization", BEARER, "Content-Type", JSON, "Origin", "https://example.org"
    };
    assertThat(command("/rebuild", "{}", foreign)).isEqualTo(403);
    for (String type : List.of(
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")) {
      String[] other = {"Authorization", BEARER, "Content-Type", type};
      assertThat(command("/rebuild", "{}", other)).as(type).isEqualTo(415);
      assertThat(command("/switch-over", "{\"to\":\"b\"}", other)).as(type).isEqualTo(415);
    }
    assertThat(command("/rebuild", "{}", "Authorization", BEARER)).isEqualTo(415);
    for (String body : List.of("{}", "{\"to\":null}", "[]", "")) {
      assertThat(command("/switch-over", body, "Authorization", BEARER, "Content-Type", JSON))
          .as(body)
          .isEqualTo(400);
    }
    verify(agent, never()).rebuild();
    verify(duty, never()).switchOver("b");
  }

  @Test
  void thePortOfTheChecksAcceptsNoCommands() throws Exception {
    start(TOKEN);
    HttpResponse<String> check = send("GET", this.checks, "/check", "");
    assertThat(check.statusCode()).isEqualTo(200);
    assertThat(check.body())
        .contains("\"failover\":\"too few positions\"", "\"administrators\":\"boss\"");
    for (String path : List.of("/rebuild", "/rebuild/", "//rebuild", "/rebuild;x", "/re%62uild")) {
      HttpResponse<String> refused =
          send("POST", this.checks, path, "{}", "Authorization", BEARER, "Content-Type", JSON);
      assertThat(refused.statusCode()).as(path).isEqualTo(403);
      assertThat(refused.body()).contains("at port " + this.commands + " of 127.0.0.1");
    }
    verify(agent, never()).rebuild();
  }

  @Test
  void commandsListenOnLoopbackAlone() throws Exception {
    start(TOKEN);
    List<InetAddress> others = NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter((address) -> !address.isLoopbackAddress() && address.getAddress().length == 4)
        .toList();
    for (InetAddress other : others) {
      URI uri = URI.create("http://%s:%s/rebuild".formatted(other.getHostAddress(), this.commands));
      assertThatThrownBy(
              () -> HTTP.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.discarding()))
          .isInstanceOf(ConnectException.class);
    }
  }

  @Test
  void withoutATokenThereAreNoCommands() throws Exception {
    startWith();
    assertThatThrownBy(() -> command("/rebuild", "{}", "Content-Type", JSON))
        .isInstanceOf(ConnectException.class);
    HttpResponse<String> refused =
        send("POST", this.checks, "/rebuild", "{}", "Content-Type", JSON);
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("as.failover.commands.token-file is not set");
    assertThat(send("GET", this.checks, "/check", "").statusCode()).isEqualTo(200);
  }

  @Test
  void aShortOrMissingTokenIsAnError() {
    assertThatThrownBy(() -> start("short"))
        .rootCause()
        .hasMessageContaining("as.failover.commands.token-file");
    assertThatThrownBy(() -> startWith("--as.failover.commands.token-file=/no/file"))
        .rootCause()
        .hasMessageContaining("as.failover.commands.token-file");
  }
}
