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
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** JDBC objects that report every call before it is made, including the reads of columns. */
final class Watched {

  private static final Set<Class<?>> TYPES = Set.of(
      Connection.class,
      Statement.class,
      PreparedStatement.class,
      ResultSet.class,
      DatabaseMetaData.class);

  private Watched() {}

  /**
   * Watches a connection.
   *
   * @param before receives each call; may throw
   * @param rewrite rewrites each SQL text
   */
  static Connection of(
      Connection connection, Consumer<Method> before, UnaryOperator<String> rewrite) {
    return (Connection) watch(Connection.class, connection, before, rewrite);
  }

  private static Object watch(
      Class<?> type, Object real, Consumer<Method> before, UnaryOperator<String> rewrite) {
    return Proxy.newProxyInstance(
        Watched.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
          before.accept(method);
          if (isSql(method, arguments)) {
            arguments[0] = rewrite.apply((String) arguments[0]);
          }
          try {
            Object result = method.invoke(real, arguments);
            return result != null && TYPES.contains(method.getReturnType())
                ? watch(method.getReturnType(), result, before, rewrite)
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
