package io.election.autoconfigure.jdbc;

import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.boot.jdbc.DatabaseDriver;
import org.springframework.util.ClassUtils;

/** Finds the JDBC driver by which the application connects. */
final class Drivers {

  private Drivers() {}

  /** The driver of a pool, which need not name its class. */
  static @Nullable Driver of(@Nullable String className, String url) {
    String name =
        className != null ? className : DatabaseDriver.fromJdbcUrl(url).getDriverClassName();
    if (name != null) {
      return of(name);
    }
    try {
      return DriverManager.getDriver(url);
    } catch (SQLException ex) {
      return null;
    }
  }

  /** The driver of a class; {@code null} if the class is missing. */
  static @Nullable Driver of(@Nullable String className) {
    ClassLoader classLoader = ClassUtils.getDefaultClassLoader();
    return className != null && ClassUtils.isPresent(className, classLoader)
        ? (Driver) BeanUtils.instantiateClass(ClassUtils.resolveClassName(className, classLoader))
        : null;
  }
}
