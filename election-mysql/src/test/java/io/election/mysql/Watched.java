package io.election.mysql;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
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
     * prepares; returns the text to use.
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
            arguments[0] = watcher.before(method, (String) arguments[0]);
          } else {
            watcher.before(method, null);
          }
          try {
            Object result = method.invoke(real, arguments);
            return result != null && TYPES.contains(method.getReturnType())
                ? watch(method.getReturnType(), result, watcher)
                : result;
          } catch (InvocationTargetException ex) {
            throw ex.getCause();
          }
        });
  }

  private static boolean isSql(Method method, Object[] arguments) {
    return arguments != null
        && arguments[0] instanceof String
        && Set.of("execute", "prepareStatement").contains(method.getName());
  }
}
