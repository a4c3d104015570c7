package io.election.autoconfigure.leaderonly;

import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeaderBound;
import io.election.LeaderOnly;
import io.election.autoconfigure.MysqlNode;
import io.election.store.MemoryLeaseStore;
import io.election.store.TermEnd;
import jakarta.servlet.http.HttpServletResponse;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.tomcat.autoconfigure.servlet.TomcatServletWebServerAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** What an application ends after what. Each step waits for the one before it. */
class ShutdownOrderTest {

  @ParameterizedTest(name = "stopped first: {0}")
  @ValueSource(booleans = {false, true})
  void leaderWorkOfAllPhasesEndsBeforeTheLeaseAndRequestsAndPoolsAfterIt(boolean stops) {
    ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
        .properties(
            "spring.application.name=default",
            "server.port=0",
            "as.election.algorithm=Recorded",
            "as.election.node-id=a",
            "as.election.lease-duration=1500ms",
            "as.election.renew-interval=100ms",
            "as.election.operation-timeout=500ms")
        .run();
    Log log = context.getBean(Log.class);
    log.await("both start");
    CompletableFuture<Void> call = CompletableFuture.runAsync(context.getBean(Call.class)::run);
    log.await("call begins");
    String url = "http://localhost:" + context.getEnvironment().getProperty("local.server.port");
    CompletableFuture<HttpResponse<Void>> request = HttpClient.newHttpClient()
        .sendAsync(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.discarding());
    log.await("request begins");
    if (stops) {
      context.stop();
    }
    context.close();
    assertThat(log.entries)
        .containsExactly(
            "both start",
            "call begins",
            "request begins",
            "both stop",
            "call ends",
            "both have stopped",
            "lease is handed back",
            "request ends",
            "pool closes");
    assertThat(call.join()).isNull();
    assertThat(request.join().statusCode()).isEqualTo(200);
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    TomcatServletWebServerAutoConfiguration.class,
    DispatcherServletAutoConfiguration.class,
    WebMvcAutoConfiguration.class
  })
  @Import({MysqlNode.Starter.class, Log.class, Call.class, Request.class, Pool.class})
  static class Application {

    @Bean
    RecordedLeaseStore recordedLeaseStore(Log log) {
      return new RecordedLeaseStore(log);
    }

    /** Below the phase of everything else. */
    @Bean
    @LeaderBound
    Worker first(Log log) {
      return new Worker(log, Integer.MIN_VALUE);
    }

    /** Above the phase of the election. */
    @Bean
    @LeaderBound
    Worker last(Log log) {
      return new Worker(log, Integer.MAX_VALUE);
    }
  }

  static class Log {

    private final List<String> entries = new CopyOnWriteArrayList<>();

    private final CyclicBarrier starts = new CyclicBarrier(2, () -> add("both start"));

    private final CyclicBarrier stops = new CyclicBarrier(2, () -> add("both stop"));

    private final CyclicBarrier ends = new CyclicBarrier(2, () -> add("both have stopped"));

    void add(String entry) {
      this.entries.add(entry);
    }

    void await(String entry) {
      patiently().until(() -> this.entries.contains(entry));
    }
  }

  static class Worker implements SmartLifecycle {

    private final Log log;

    private final int phase;

    private volatile boolean running;

    Worker(Log log, int phase) {
      this.log = log;
      this.phase = phase;
    }

    @Override
    public void start() {
      this.running = true;
      await(this.log.starts);
    }

    @Override
    public void stop() {
      await(this.log.stops);
      this.log.await("call ends");
      await(this.log.ends);
      this.running = false;
    }

    private static void await(CyclicBarrier barrier) {
      try {
        barrier.await(20, TimeUnit.SECONDS);
      } catch (Exception ex) {
        throw new IllegalStateException(ex);
      }
    }

    @Override
    public boolean isRunning() {
      return this.running;
    }

    @Override
    public boolean isAutoStartup() {
      return false;
    }

    @Override
    public int getPhase() {
      return this.phase;
    }
  }

  static class RecordedLeaseStore extends MemoryLeaseStore {

    private final Log log;

    RecordedLeaseStore(Log log) {
      this.log = log;
    }

    @Override
    public String name() {
      return "Recorded";
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending) {
      this.log.add("lease is handed back");
      return super.release(serviceId, nodeId, term, successor, ending);
    }
  }

  static class Call {

    private final Log log;

    Call(Log log) {
      this.log = log;
    }

    @LeaderOnly
    void run() {
      this.log.add("call begins");
      this.log.await("both stop");
      this.log.add("call ends");
    }
  }

  @RestController
  static class Request {

    private final Log log;

    Request(Log log) {
      this.log = log;
    }

    @GetMapping("/")
    void answer(HttpServletResponse response) throws IOException {
      this.log.add("request begins");
      this.log.await("lease is handed back");
      // Tomcat waits for this method, not for what it has returned.
      response.setContentLength(0);
      response.flushBuffer();
      this.log.add("request ends");
    }
  }

  static class Pool extends AbstractDataSource implements Closeable {

    private final Log log;

    Pool(Log log) {
      this.log = log;
    }

    @Override
    public Connection getConnection() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Connection getConnection(String username, String password) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      this.log.add("pool closes");
    }
  }
}
