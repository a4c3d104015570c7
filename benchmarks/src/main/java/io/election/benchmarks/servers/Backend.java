package io.election.benchmarks.servers;

import io.election.test.process.TcpProxy;
import java.io.IOException;
import org.opentest4j.TestAbortedException;

/** A kind of server. */
public enum Backend {
  /** MySQL in a container, or the embedded MariaDB without Docker. */
  MYSQL(Requests.Protocol.MYSQL) {
    @Override
    public Server start() throws NotInstalledException {
      try {
        return MysqlServer.launch();
      } catch (TestAbortedException ex) {
        throw new NotInstalledException("MySQL: " + ex.getMessage(), ex);
      }
    }
  },
  /** ZooKeeper in its own JVM. */
  ZOOKEEPER(Requests.Protocol.ZOOKEEPER) {
    @Override
    public Server start() throws IOException {
      return ServerProcess.zooKeeper();
    }
  },
  /** The etcd that is installed on this machine. */
  ETCD(Requests.Protocol.HTTP_2) {
    @Override
    public Server start() throws NotInstalledException {
      try {
        return ServerProcess.etcd();
      } catch (IOException ex) {
        throw new NotInstalledException("etcd not installed (apt-get install etcd-server)", ex);
      }
    }
  };

  private final Requests.Protocol protocol;

  Backend(Requests.Protocol protocol) {
    this.protocol = protocol;
  }

  /**
   * Starts a server.
   *
   * @return the server, ready for clients
   * @throws NotInstalledException if this machine does not have the server
   * @throws IOException if it does not start
   */
  public abstract Server start() throws NotInstalledException, IOException;

  /**
   * Opens a proxy between one process and a server. It counts the commands of MySQL (statements and
   * everything else that the driver sends), the requests and pings of ZooKeeper, or the messages of
   * gRPC.
   *
   * @param port the port of the server on this machine
   * @return the proxy
   */
  public TcpProxy proxyTo(int port) {
    return TcpProxy.to(port, () -> new Requests(this.protocol));
  }
}
