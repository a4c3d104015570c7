package io.election.benchmarks.sidebyside;

import io.election.support.process.Requests;
import io.election.support.process.TcpProxy;
import java.net.InetSocketAddress;
import java.util.Locale;
import java.util.concurrent.Callable;

/** A kind of server. */
enum Backend {
  /** MySQL in a container, or the embedded MariaDB without Docker. */
  MYSQL(Requests.Protocol.MYSQL, MysqlServer::launch),
  /** ZooKeeper in its own JVM. */
  ZOOKEEPER(Requests.Protocol.ZOOKEEPER, ServerProcess::zooKeeper),
  /** The etcd that is installed on this machine. */
  ETCD(Requests.Protocol.HTTP_2, ServerProcess::etcd),
  /** PostgreSQL 18. */
  POSTGRESQL(Requests.Protocol.POSTGRESQL, PostgresqlDatabase::launch),
  /** The same behind a PgBouncer in transaction mode. */
  PGBOUNCER(Requests.Protocol.POSTGRESQL, PostgresqlDatabase::launchPooled);

  private final Requests.Protocol protocol;

  private final Callable<Server> launch;

  Backend(Requests.Protocol protocol, Callable<Server> launch) {
    this.protocol = protocol;
    this.launch = launch;
  }

  /** Returns the backend that an option names. */
  static Backend of(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT));
  }

  /** Starts a server. Fails if this machine does not have it. */
  Server start() throws Exception {
    return this.launch.call();
  }

  /**
   * Opens a proxy between one process and a server. It counts the commands of MySQL (statements and
   * everything else that the driver sends), the round trips of PostgreSQL, the requests of ZooKeeper
   * without its pings, or the messages of gRPC.
   */
  TcpProxy proxyTo(InetSocketAddress server, Traffic traffic) {
    return TcpProxy.to(server, () -> new Requests(this.protocol, traffic::sent));
  }
}
