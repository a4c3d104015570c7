package io.election.autoconfigure.jdbc;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.util.ClassUtils;

/**
 * Hints for what a native image must keep because the election in a database looks it up by name.
 */
final class JdbcRuntimeHints implements RuntimeHintsRegistrar {

  private static final String DATA_SOURCE_PROPERTIES =
      "org.springframework.boot.jdbc.autoconfigure.DataSourceProperties";

  private static final List<String> DRIVERS =
      List.of("com.mysql.cj.jdbc.Driver", "org.mariadb.jdbc.Driver", "org.postgresql.Driver");

  /** Its presence is checked. Without a hint it counts as missing. */
  private static final String POOL = "com.zaxxer.hikari.HikariDataSource";

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    hints.reflection().registerTypeIfPresent(classLoader, POOL);
    hints.resources().registerPattern("io/election/jdbc/leader-election*.sql");
    if (ClassUtils.isPresent(DATA_SOURCE_PROPERTIES, classLoader)) {
      Jdbc.registerHints(hints, classLoader);
    }
  }

  /** A separate class, so that the outer class loads without JDBC. */
  private static final class Jdbc {

    /** The election creates its driver itself, and with R2DBC no other code binds the settings. */
    static void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
      DRIVERS.forEach((name) -> hints
          .reflection()
          .registerTypeIfPresent(classLoader, name, MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
      BindableRuntimeHintsRegistrar.forTypes(DataSourceProperties.class).registerHints(hints);
    }
  }
}
