package io.election.faults;

import io.election.test.process.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** The endpoint of a node that has a web server. */
final class Endpoint {

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).build();

  private final int port;

  private Endpoint(int port) {
    this.port = port;
  }

  /** Creates an endpoint on a port that is currently free. */
  static Endpoint onFreePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return new Endpoint(socket.getLocalPort());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
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

  /** Returns the status of the node's election health: 200 if it is healthy, else 503. */
  int health() throws IOException {
    return exchange(request("health/election").GET()).statusCode();
  }

  String show() throws IOException {
    return send(request().GET(), 200);
  }

  /** Designates with {@code force}, since a node that is cut off is not a member. */
  void designate(String node) throws IOException {
    send(
        request()
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"leaderId\": \"" + node + "\", \"force\": true}")),
        202);
  }

  void forceElection() throws IOException {
    send(request().DELETE(), 204);
  }

  void pause(String reason) throws IOException {
    send(
        request("leader/" + Cluster.SERVICE + "/pause")
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"reason\": \"" + reason + "\"}")),
        204);
  }

  void resume() throws IOException {
    send(request("leader/" + Cluster.SERVICE + "/pause").DELETE(), 204);
  }

  private HttpRequest.Builder request() {
    return request("leader/" + Cluster.SERVICE);
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + this.port + "/actuator/" + path))
        .timeout(Duration.ofSeconds(20));
  }

  private static String send(HttpRequest.Builder request, int expected) throws IOException {
    HttpResponse<String> response = exchange(request);
    if (response.statusCode() != expected) {
      throw new IOException(response.statusCode() + ": " + response.body());
    }
    return response.body();
  }

  private static HttpResponse<String> exchange(HttpRequest.Builder request) throws IOException {
    try {
      return CLIENT.send(request.build(), BodyHandlers.ofString());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IOException(ex);
    }
  }
}
