package io.election.faults;

import io.election.support.TestServer;
import io.election.support.process.Node;
import java.time.Duration;
import java.util.Map;
import org.springframework.http.MediaType;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.client.RestClient;

/** The endpoint of a node that has a web server. */
final class Endpoint {

  private static final String ELECTION = "leader/" + Cluster.SERVICE;

  private final int port;

  private final RestClient client;

  Endpoint() {
    this.port = TestServer.freePort();
    JdkClientHttpRequestFactory requests = new JdkClientHttpRequestFactory();
    requests.setReadTimeout(Duration.ofSeconds(20));
    this.client = RestClient.builder()
        .requestFactory(requests)
        .baseUrl("http://127.0.0.1:" + this.port + "/actuator/")
        .build();
  }

  /** Returns a node that serves this endpoint without authentication. */
  Node on(Node node) {
    return node.with("spring.main.web-application-type=servlet")
        .with("server.port=" + this.port)
        .with("server.address=127.0.0.1")
        .with("server.tomcat.threads.min-spare=2")
        .with("management.endpoint.leader.access=unrestricted")
        .with("management.endpoint.leader.show-details=always")
        .with("management.endpoint.health.show-details=always");
  }

  int health() {
    return this.client
        .get()
        .uri("health/election")
        .exchange((request, response) -> response.getStatusCode().value());
  }

  String show() {
    return this.client.get().uri(ELECTION).retrieve().body(String.class);
  }

  /** Designates with {@code force}, since a node that is cut off is not a member. */
  void designate(String node) {
    this.client
        .post()
        .uri(ELECTION)
        .contentType(MediaType.APPLICATION_JSON)
        .body(Map.of("leaderId", node, "force", true))
        .retrieve()
        .toBodilessEntity();
  }

  void forceElection() {
    this.client.delete().uri(ELECTION).retrieve().toBodilessEntity();
  }
}
