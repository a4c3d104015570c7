package io.election.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;

/** What a container tells Spring Boot, which no setting says. */
public final class PostgresqlContainer implements JdbcConnectionDetails {

  @Override
  public @Nullable String getUsername() {
    return null;
  }

  @Override
  public @Nullable String getPassword() {
    return null;
  }

  @Override
  public String getJdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:1/orders";
  }
}
