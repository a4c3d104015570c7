package io.election.autoconfigure.mysql;

import io.election.ElectionSetupException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
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

/**
 * Refuses settings of a pool that make its connections other ones than its URL, user and password
 * alone, where the election knows nothing more than these three.
 */
final class UncarriedSettings {

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
    BeanWrapper bean = PropertyAccessorFactory.forBeanPropertyAccess(root);
    for (String name : OF_BEANS) {
      if (bean.isReadableProperty(name) && isSet(value(bean, name))) {
        throw refused(name + " of the DataSource " + root.getClass().getName());
      }
    }
    refuse(OF_OTHER_POOLS, environment);
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
          throw refused(property);
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

  private static ElectionSetupException refused(String setting) {
    return new ElectionSetupException(
        "as.election.algorithm=Mysql opens connections of its own, which would not have what %s gives to those of the pool."
            .formatted(setting),
        "Write it into the URL (for instance sslMode=VERIFY_IDENTITY, or sessionVariables), use HikariCP, or mark a DataSource bean with @ElectionDataSource, beside @Bean.");
  }
}
