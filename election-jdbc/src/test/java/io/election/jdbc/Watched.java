package io.election.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** JDBC objects that report every call before it is made, including the reads of columns. */
final class Watched {

  private static final Set<Class<?>> TYPES = Set.of(
      Connection.class,
      Statement.class,
      PreparedStatement.class,
      ResultSet.class,
      DatabaseMetaData.class);

  private Watched() {}

  @FunctionalInterface
  interface Watcher {

    /**
     * Called before each call, with the text of the statement, if any, that it executes or
     * prepares; returns the text to use. A prepared statement has its text again when it is executed
     * again, and is then prepared again if it is to be another one.
     */
    @Nullable
    String before(Method method, @Nullable String sql) throws Throwable;
  }

  static Connection of(Connection connection, Watcher watcher) {
    return (Connection) watch(Connection.class, connection, watcher);
  }

  private static Object watch(Class<?> type, Object real, Watcher watcher) {
    return Proxy.newProxyInstance(
        Watched.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
          if (isSql(method, arguments)) {
            String sql = (String) arguments[0];
            arguments[0] = watcher.before(method, sql);
            if (method.getName().equals("prepareStatement") && arguments.length == 1) {
              return new Prepared((Connection) real, sql, (String) arguments[0], watcher).watched();
            }
          } else {
            watcher.before(method, null);
          }
          return call(real, method, arguments, watcher);
        });
  }

  private static Object call(Object real, Method method, Object[] arguments, Watcher watcher)
      throws Throwable {
    try {
      Object result = method.invoke(real, arguments);
      return result != null && TYPES.contains(method.getReturnType())
          ? watch(method.getReturnType(), result, watcher)
          : result;
    } catch (InvocationTargetException ex) {
      throw ex.getCause();
    }
  }

  /** A prepared statement, whose text may be another one each time that it is executed. */
  private static final class Prepared {

    private final Connection connection;
    private final String sql;
    private final Watcher watcher;
    private String used;
    private PreparedStatement statement;
    private boolean executed;

    Prepared(Connection connection, String sql, String used, Watcher watcher) throws SQLException {
      this.connection = connection;
      this.sql = sql;
      this.watcher = watcher;
      this.used = used;
      this.statement = connection.prepareStatement(used);
    }

    Object watched() {
      return Proxy.newProxyInstance(
          Watched.class.getClassLoader(),
          new Class<?>[] {PreparedStatement.class},
          (proxy, method, arguments) -> {
            boolean again = this.executed && method.getName().startsWith("execute");
            String text = this.watcher.before(method, again ? this.sql : null);
            if (again && !this.used.equals(text)) {
              this.statement.close();
              this.statement = this.connection.prepareStatement(text);
              this.used = text;
            }
            this.executed |= method.getName().startsWith("execute");
            return call(this.statement, method, arguments, this.watcher);
          });
    }
  }

  private static boolean isSql(Method method, Object[] arguments) {
    return arguments != null
        && arguments[0] instanceof String
        && Set.of("execute", "prepareStatement").contains(method.getName());
  }
}
