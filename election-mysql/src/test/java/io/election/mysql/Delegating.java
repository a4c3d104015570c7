package io.election.mysql;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.concurrent.Callable;
import javax.sql.DataSource;

/** Makes a DataSource of anything that connects. */
final class Delegating {

  private Delegating() {}

  static DataSource to(Callable<Connection> connect) {
    return (DataSource) Proxy.newProxyInstance(
        Delegating.class.getClassLoader(),
        new Class<?>[] {DataSource.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("getConnection")) {
            return connect.call();
          }
          throw new UnsupportedOperationException(method.getName());
        });
  }
}
