package io.election.benchmarks.servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class LinkTest {

  private static final byte[] PACKET = {0, 0, 0, 1, 42};

  @Test
  void nothingPassesWhileItIsCutAndAllOfItAfterwards() throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Link link = new Link(Backend.ZOOKEEPER, listener.getLocalPort());
        Socket client = new Socket(InetAddress.getLoopbackAddress(), link.port());
        Socket server = listener.accept()) {
      client.getOutputStream().write(PACKET);
      assertThat(server.getInputStream().readNBytes(5)).isEqualTo(PACKET);
      assertThat(link.requestCount()).isEqualTo(1);
      link.cut();
      client.getOutputStream().write(PACKET);
      client.close();
      server.setSoTimeout(200);
      assertThatThrownBy(() -> server.getInputStream().read())
          .isInstanceOf(SocketTimeoutException.class);
      link.heal();
      server.setSoTimeout(10_000);
      assertThat(server.getInputStream().readNBytes(5)).isEqualTo(PACKET);
      assertThat(server.getInputStream().read()).isEqualTo(-1);
      Awaitility.await("the second request is counted")
          .atMost(Duration.ofSeconds(10))
          .until(() -> link.requestCount() == 2);
    }
  }
}
