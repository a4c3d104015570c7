package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.BeansException;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.ShardingKeyDataSourceAdapter;
import org.springframework.jdbc.datasource.UserCredentialsDataSourceAdapter;

/**
 * Refuses settings of a pool that make its connections other ones than its URL, user and password
 * alone, where the election knows nothing more than these three; and sources of which it does not
 * know whether they have such settings.
 */
final class UncarriedSettings {

  /** What they add to a URL, a user and a password is in {@link #OF_BEANS}. */
  private static final Set<String> SOURCES = Set.of(
      "org.apache.tomcat.jdbc.pool.DataSourceProxy",
      "org.apache.commons.dbcp2.BasicDataSource",
      "oracle.ucp.jdbc.PoolDataSourceImpl",
      "org.mariadb.jdbc.MariaDbDataSource",
      "org.springframework.jdbc.datasource.DriverManagerDataSource",
      "org.springframework.jdbc.datasource.SimpleDriverDataSource");

  /** As the getters of Tomcat's pool, Commons DBCP, Oracle UCP and Spring's own sources name them. */
  private static final List<String> OF_BEANS = List.of(
      "dbProperties",
      "connectionProperties",
      "connectionFactoryProperties",
      "connectionFactoryClassName",
      "connectionInitSqls",
      "initSQL",
      "defaultCatalog",
      "defaultSchema",
      "catalog",
      "schema");

  private static final List<String> OF_OTHER_POOLS = List.of(
      "dbcp2.connection-properties",
      "dbcp2.connection-init-sqls",
      "dbcp2.connection-factory-class-name",
      "dbcp2.default-catalog",
      "dbcp2.default-schema",
      "tomcat.connection-properties",
      "tomcat.db-properties",
      "tomcat.init-s-q-l",
      "tomcat.default-catalog",
      "tomcat.data-source-j-n-d-i",
      "oracleucp.connection-properties",
      "oracleucp.connection-factory-properties");

  private static final List<String> OF_HIKARI = List.of(
      "hikari.data-source-properties",
      "hikari.connection-init-sql",
      "hikari.catalog",
      "hikari.schema",
      "hikari.jdbc-url",
      "hikari.username",
      "hikari.password",
      "hikari.credentials-provider-class-name",
      "hikari.data-source-class-name",
      "hikari.data-source-j-n-d-i");

  private UncarriedSettings() {}

  /**
   * Refuses such settings of a source whose URL, user and password are used.
   *
   * @throws ElectionSetupException if there is one
   */
  static void refuse(DataSource dataSource, Environment environment) {
    DataSource root = DataSourceUnwrapper.unwrapRoot(dataSource);
    if (Stream.<Class<?>>iterate(root.getClass(), Objects::nonNull, (type) -> type.getSuperclass())
        .noneMatch((type) -> SOURCES.contains(type.getName()))) {
      throw refused("the DataSource " + root.getClass().getName() + " may give");
    }
    BeanWrapper bean = PropertyAccessorFactory.forBeanPropertyAccess(root);
    for (String name : OF_BEANS) {
      if (bean.isReadableProperty(name) && isSet(value(bean, name))) {
        throw refused(name + " of the DataSource " + root.getClass().getName() + " gives");
      }
    }
    refuse(OF_OTHER_POOLS, environment);
  }

  /**
   * Refuses wrappers of a source that connect as another user or to another database than it.
   *
   * @throws ElectionSetupException if there is one
   */
  static void refuseWrappers(DataSource dataSource) {
    DataSource each = dataSource;
    while (each instanceof DelegatingDataSource wrapper) {
      if (wrapper instanceof UserCredentialsDataSourceAdapter
          || wrapper instanceof ShardingKeyDataSourceAdapter) {
        throw refused("the wrapper " + wrapper.getClass().getName() + " may give");
      }
      each = wrapper.getTargetDataSource();
    }
  }

  /**
   * Refuses such settings of a pool that is not known, whatever it is.
   *
   * @throws ElectionSetupException if there is one
   */
  static void refuse(Environment environment) {
    refuse(OF_HIKARI, environment);
    refuse(OF_OTHER_POOLS, environment);
  }

  private static void refuse(List<String> names, Environment environment) {
    for (String name : names) {
      String property = "spring.datasource." + name;
      ConfigurationPropertyName asked = ConfigurationPropertyName.of(property);
      for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
        ConfigurationProperty found = source.getConfigurationProperty(asked);
        if (found != null
            ? isSet(found.getValue())
            : source.containsDescendantOf(asked) == ConfigurationPropertyState.PRESENT) {
          throw refused(property + " gives");
        }
      }
    }
  }

  private static @Nullable Object value(BeanWrapper bean, String name) {
    try {
      return bean.getPropertyValue(name);
    } catch (BeansException ex) {
      return null;
    }
  }

  private static boolean isSet(@Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      return !map.isEmpty();
    }
    if (value instanceof Collection<?> collection) {
      return !collection.isEmpty();
    }
    return value != null && !value.toString().isEmpty();
  }

  private static ElectionSetupException refused(String subject) {
    return new ElectionSetupException(
        "The election opens connections of its own, which would not have what %s to those of the application."
            .formatted(subject),
        "Write it into the URL (for instance sslMode=VERIFY_IDENTITY, or sessionVariables; PostgreSQL ignores these names: sslmode=verify-full, or options=-c …), use HikariCP, or mark a DataSource bean with @ElectionDataSource, beside @Bean.");
  }
}
