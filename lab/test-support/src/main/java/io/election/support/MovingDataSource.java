package io.election.support;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections through a proxy such as MaxScale's readwritesplit with {@code master_reconnection}.
 * Between two transactions they move to the server that is supplied then, where the proxy repeats
 * what the client has {@code SET}; within a transaction they break.
 */
public record MovingDataSource(Supplier<DataSource> server) implements ConnectionSource {

  @Override
  public Connection getConnection() throws SQLException {
    DataSource now = this.server.get();
    Moving moving = new Moving(this.server, now, now.getConnection());
    return Proxies.of(Connection.class, moving::call);
  }

  /** One connection of a client. */
  private static final class Moving {

    private final Supplier<DataSource> server;
    private final List<String> settings = new ArrayList<>();
    private DataSource present;
    private Connection connection;
    private boolean inTransaction;

    Moving(Supplier<DataSource> server, DataSource present, Connection connection) {
      this.server = server;
      this.present = present;
      this.connection = connection;
    }

    @Nullable
    Object call(Method method, Object @Nullable [] arguments) throws Exception {
      if (method.getName().equals("createStatement")) {
        follow();
        Statement statement = this.connection.createStatement();
        return Proxies.of(Statement.class, (called, values) -> {
          if (values != null && called.getName().equals("execute")) {
            note((String) values[0]);
          }
          return called.invoke(statement, values);
        });
      }
      if (method.getName().equals("prepareStatement")) {
        follow();
        return new Prepared(method, arguments).moving();
      }
      return method.invoke(this.connection, arguments);
    }

    /** A statement that is prepared again on the server that the connection has moved to. */
    private final class Prepared {

      private final Method prepare;
      private final Object @Nullable [] arguments;
      private Connection on;
      private PreparedStatement statement;

      Prepared(Method prepare, Object @Nullable [] arguments) throws Exception {
        this.prepare = prepare;
        this.arguments = arguments;
        this.on = Moving.this.connection;
        this.statement = (PreparedStatement) prepare.invoke(this.on, arguments);
      }

      PreparedStatement moving() {
        return Proxies.of(PreparedStatement.class, (called, values) -> {
          if (called.getName().startsWith("execute")) {
            follow();
            if (this.on != Moving.this.connection) {
              this.on = Moving.this.connection;
              this.statement = (PreparedStatement) this.prepare.invoke(this.on, this.arguments);
            }
          }
          return called.invoke(this.statement, values);
        });
      }
    }

    private void note(String sql) {
      String upper = sql.strip().toUpperCase(Locale.ROOT);
      if (upper.startsWith("SET ")) {
        this.settings.add(sql);
      } else if (upper.equals("START TRANSACTION")) {
        this.inTransaction = true;
      } else if (upper.equals("COMMIT") || upper.equals("ROLLBACK")) {
        this.inTransaction = false;
      }
    }

    private void follow() throws SQLException {
      DataSource now = this.server.get();
      if (now.equals(this.present)) {
        return;
      }
      this.connection.close();
      if (this.inTransaction) {
        throw new SQLNonTransientConnectionException("Moved in a transaction", "08S01");
      }
      this.connection = now.getConnection();
      this.present = now;
      try (Statement statement = this.connection.createStatement()) {
        for (String setting : this.settings) {
          statement.execute(setting);
        }
      }
    }
  }
}
