package io.election.support.process;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.support.TestServer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the broken network with a server that echoes what it receives. */
@Timeout(30)
class TcpProxyTest {

  @AutoClose
  private final Echo echo = new Echo();

  @AutoClose
  private final TcpProxy proxy = TcpProxy.to(this.echo.port(), () -> (packet) -> packet.length);

  @AutoClose
  private final Socket client = connect();

  TcpProxyTest() throws IOException {}

  @Test
  void whatIsSentComesBack() throws IOException {
    assertThat(ask(this.client, "hello")).isEqualTo("hello");
    String longText = "x".repeat(10_000);
    assertThat(ask(this.client, longText)).isEqualTo(longText);
    assertThat(this.proxy.connectionCount()).isEqualTo(1);
    assertThat(this.proxy.requestCount()).as("as the protocol counts").isEqualTo(10_005);
    this.client.close();
    Awaitility.await().until(() -> this.proxy.connectionCount() == 0);
  }

  @Test
  void lostRequestsArriveAfterTheClientHasGone() throws IOException {
    this.proxy.loseRequests();
    send(this.client, "late");
    assertNoAnswer(this.client);
    assertThat(this.echo.received()).isEmpty();
    this.client.close();
    this.proxy.heal();
    Awaitility.await().until(() -> this.echo.received().equals("late"));
    Awaitility.await().until(() -> this.proxy.connectionCount() == 0);
  }

  @Test
  void ofARequestWhoseAnswerIsLostTheServerKnows() throws IOException {
    this.proxy.loseAnswers();
    send(this.client, "heard");
    assertNoAnswer(this.client);
    assertThat(this.echo.received()).isEqualTo("heard");
    this.proxy.heal();
    assertThat(receive(this.client, 5)).isEqualTo("heard");
  }

  @Test
  void aProxyThatRefusesKeepsWhatItHasAndLetsOthersInWhenHealed() throws IOException {
    assertThat(ask(this.client, "before")).isEqualTo("before");
    this.proxy.refuse();
    assertThatThrownBy(this::connect).isInstanceOf(ConnectException.class);
    assertThat(ask(this.client, "still")).isEqualTo("still");
    this.proxy.heal();
    try (Socket other = connect()) {
      assertThat(ask(other, "again")).isEqualTo("again");
    }
  }

  @Test
  void aProxyThatAwaitsItsServerHoldsWhatIsSentUntilItListens() throws IOException {
    int port = TestServer.freePort();
    try (TcpProxy awaiting = TcpProxy.to(port, () -> (packet) -> 1).awaitServer();
        Socket early = connect(awaiting)) {
      send(early, "early");
      assertNoAnswer(early);
      try (ServerSocket late = new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
          Socket server = late.accept()) {
        assertThat(receive(server, 5)).isEqualTo("early");
      }
    }
  }

  @Test
  void connectionsAreReset() throws IOException {
    assertThat(ask(this.client, "before")).isEqualTo("before");
    this.proxy.reset();
    assertThatThrownBy(() -> receive(this.client, 1)).isInstanceOf(SocketException.class);
    assertThat(this.proxy.connectionCount()).isZero();
  }

  @Test
  void theAnswerToTheLastOfSomeStatementsIsSwallowedOnce() throws IOException {
    TcpProxy.Trap trap = this.proxy.resetAfterAnswerTo("INSERT", "COMMIT");
    assertThat(ask(this.client, "commit")).isEqualTo("commit");
    assertThat(ask(this.client, "an insert")).isEqualTo("an insert");
    assertThat(trap.isSprung()).isFalse();
    send(this.client, "com");
    assertThat(receive(this.client, 3)).isEqualTo("com");
    send(this.client, "mit");
    assertThatThrownBy(() -> receive(this.client, 1)).isInstanceOf(SocketException.class);
    assertThat(this.echo.received()).endsWith("commit");
    Awaitility.await().until(trap::isSprung);
    try (Socket other = connect()) {
      assertThat(ask(other, "insert, commit")).isEqualTo("insert, commit");
    }
  }

  @Test
  void noMoreBytesPassThanTheLimit() throws IOException {
    this.proxy.limit(10_000);
    long start = System.nanoTime();
    String text = "x".repeat(3_000);
    assertThat(ask(this.client, text)).isEqualTo(text);
    assertThat(System.nanoTime() - start).isGreaterThan(Duration.ofMillis(300).toNanos());
  }

  private Socket connect() throws IOException {
    return connect(this.proxy);
  }

  private static Socket connect(TcpProxy proxy) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout(10_000);
    return socket;
  }

  private static String ask(Socket client, String text) throws IOException {
    send(client, text);
    return receive(client, text.length());
  }

  private static void send(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(US_ASCII));
  }

  private static String receive(Socket client, int length) throws IOException {
    return new String(client.getInputStream().readNBytes(length), US_ASCII);
  }

  private static void assertNoAnswer(Socket client) throws IOException {
    client.setSoTimeout(200);
    assertThatThrownBy(() -> receive(client, 1)).isInstanceOf(SocketTimeoutException.class);
    client.setSoTimeout(10_000);
  }

  private static final class Echo implements AutoCloseable {

    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());

    private final StringBuffer received = new StringBuffer();

    private final ExecutorService threads = Executors.newCachedThreadPool();

    Echo() throws IOException {
      this.threads.submit(() -> {
        while (true) {
          Socket client = this.listener.accept();
          this.threads.submit(() -> answer(client));
        }
      });
    }

    int port() {
      return this.listener.getLocalPort();
    }

    String received() {
      return this.received.toString();
    }

    /** Ends when the client's connection is closed or reset. */
    private Void answer(Socket client) throws IOException {
      byte[] buffer = new byte[10_000];
      try (client) {
        for (int n = client.getInputStream().read(buffer);
            n > 0;
            n = client.getInputStream().read(buffer)) {
          this.received.append(new String(buffer, 0, n, US_ASCII));
          client.getOutputStream().write(buffer, 0, n);
        }
      }
      return null;
    }

    @Override
    public void close() throws IOException {
      this.listener.close();
      this.threads.shutdownNow();
    }
  }
}
