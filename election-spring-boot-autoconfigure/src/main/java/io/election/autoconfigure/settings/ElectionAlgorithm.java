package io.election.autoconfigure.settings;

import io.election.store.LeaseStore;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * An algorithm that the configuration names: manual allocation, or a lease in a {@link LeaseStore}
 * bean. {@code Mysql} is the bean {@code mysqlLeaseStore}, {@code Postgresql} the bean {@code
 * postgresqlLeaseStore}, {@code Zookeeper} the bean {@code zookeeperLeaseStore}, {@code Etcd} the
 * bean {@code etcdLeaseStore}. The same rule applies to the application's own stores, whose bean may
 * also be named exactly like the algorithm. Used within the auto-configuration.
 *
 * @param name the name, as the endpoint shows it
 */
public record ElectionAlgorithm(String name) {

  /** The name of manual allocation. */
  public static final String MANUAL_ALLOCATION = "ManualAllocation";

  /** The name of the bean that keeps the leases of a list. */
  public static final String LIST_BEAN = "jointLeaseStore";

  /** Separates the names of the parts of a list where they are shown. */
  public static final String SEPARATOR = ", ";

  /** The name of the lease in MySQL or MariaDB. */
  public static final String MYSQL = "Mysql";

  /** The name of the lease in PostgreSQL. */
  public static final String POSTGRESQL = "Postgresql";

  static final String ZOOKEEPER = "Zookeeper";

  static final String ETCD = "Etcd";

  static final List<String> OURS = List.of(MANUAL_ALLOCATION, MYSQL, POSTGRESQL, ZOOKEEPER, ETCD);

  /** The property that names the algorithm. */
  public static final String PROPERTY = "as.election.algorithm";

  private static final String SUFFIX = "LeaseStore";

  /** Those of a wrapping driver too. */
  private static final Pattern POSTGRESQL_URL = Pattern.compile("jdbc:([\\w-]+:)*postgresql:.*");

  private static final String JDBC =
      "io.election:election-jdbc and org.springframework.boot:spring-boot-starter-jdbc on the class path, which io.election:election-spring-boot-starter%s brings";

  /** What our stores need on the class path. */
  private static final Map<String, String> LIBRARIES = Map.of(
      MYSQL,
      JDBC.formatted(""),
      POSTGRESQL,
      JDBC.formatted("-postgresql"),
      ZOOKEEPER,
      "io.election:election-zookeeper on the class path",
      ETCD,
      "io.election:election-etcd on the class path");

  /**
   * Reads what the configuration names. Binds the property, because a YAML list is not a single
   * property. If it names nothing, the URL in the settings decides. Which database the election
   * uses is known only when it is found: a bean may lead to another one.
   *
   * @return one algorithm, or the parts of a list in their order
   * @throws InvalidConfigurationPropertyValueException if there is none
   */
  public static List<ElectionAlgorithm> all(Environment environment) {
    List<String> written = Binder.get(environment)
        .bind(PROPERTY, Bindable.listOf(String.class))
        .orElseGet(() -> List.of(ofUrl(environment)));
    if (written.isEmpty()) {
      throw invalid("", "it must be one of " + String.join(", ", OURS));
    }
    return written.stream().map(ElectionAlgorithm::of).toList();
  }

  /** Returns whether the configuration names an algorithm, so that no URL decides. */
  public static boolean isNamed(Environment environment) {
    return Binder.get(environment).bind(PROPERTY, Bindable.listOf(String.class)).isBound();
  }

  private static String ofUrl(Environment environment) {
    String url = url(environment);
    return url != null && POSTGRESQL_URL.matcher(url).matches() ? POSTGRESQL : MYSQL;
  }

  /** Returns the URL of the database in the settings. */
  static @Nullable String url(Environment environment) {
    Binder binder = Binder.get(environment);
    return Stream.of("spring.datasource.hikari.jdbc-url", "spring.datasource.url")
        .map((name) -> binder.bind(name, String.class).orElse(""))
        .filter((url) -> !url.isEmpty())
        .findFirst()
        .orElse(null);
  }

  /** Returns the algorithm of an application that names one, or the first of a list. */
  public static ElectionAlgorithm of(Environment environment) {
    return all(environment).get(0);
  }

  /** Returns the algorithm of a name, however it is written. */
  public static ElectionAlgorithm of(String name) {
    return new ElectionAlgorithm(OURS.stream()
        .filter((ours) -> canonical(ours).equals(canonical(name)))
        .findFirst()
        .orElse(name));
  }

  /** Returns whether this is the algorithm of the given name. */
  public boolean is(String name) {
    return this.name.equals(name);
  }

  /** Returns whether the auto-configuration provides this algorithm. */
  public boolean isOurs() {
    return OURS.contains(this.name);
  }

  /** Returns the name of the bean that keeps the leases, or {@code null} if there is none. */
  public @Nullable String storeBean(ListableBeanFactory beanFactory) {
    if (is(MANUAL_ALLOCATION)) {
      return null;
    }
    String wanted = canonical(this.name);
    List<String> beanNames = stores(beanFactory);
    return beanNames.stream()
        .filter((beanName) -> canonical(beanName).equals(wanted))
        .findFirst()
        .or(() -> beanNames.stream()
            .filter((beanName) -> canonical(beanName).equals(wanted + canonical(SUFFIX)))
            .findFirst())
        .orElse(null);
  }

  /** Returns the name of the bean that keeps the leases; {@code null} if there is none. */
  public static @Nullable String storeBean(
      Environment environment, ListableBeanFactory beanFactory) {
    List<ElectionAlgorithm> all = all(environment);
    if (!isNamed(environment)) {
      // A processed application has the store of the URL that was set when it was built.
      return Stream.of(all.get(0), new ElectionAlgorithm(MYSQL), new ElectionAlgorithm(POSTGRESQL))
          .map((algorithm) -> algorithm.storeBean(beanFactory))
          .filter(Objects::nonNull)
          .findFirst()
          .orElse(null);
    }
    if (all.size() == 1) {
      return all.get(0).storeBean(beanFactory);
    }
    return beanFactory.containsBean(LIST_BEAN) ? LIST_BEAN : null;
  }

  /** Returns the names of what the configuration names, in its order. */
  public static List<String> names(Environment environment) {
    return all(environment).stream().map(ElectionAlgorithm::name).toList();
  }

  /** Returns the failure of an application in which this algorithm is not available. */
  public InvalidConfigurationPropertyValueException unavailable(ListableBeanFactory beanFactory) {
    List<String> ofBeans = stores(beanFactory).stream()
        .map((beanName) -> beanName.endsWith(SUFFIX) && !beanName.equals(SUFFIX)
            ? beanName.substring(0, beanName.length() - SUFFIX.length())
            : beanName)
        .toList();
    String library = LIBRARIES.get(this.name);
    if (library != null) {
      return invalid(
          this.name,
          "it needs " + library + "; add that, or set as.election.algorithm="
              + String.join(" or ", joined(List.of(MANUAL_ALLOCATION), ofBeans)));
    }
    return invalid(
        this.name,
        "it must be one of " + String.join(", ", joined(OURS, ofBeans))
            + ", or the name of a LeaseStore bean of the application");
  }

  private static List<String> joined(List<String> first, List<String> second) {
    return Stream.concat(first.stream(), second.stream()).toList();
  }

  private static List<String> stores(ListableBeanFactory beanFactory) {
    return Arrays.stream(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
            beanFactory, LeaseStore.class, true, false))
        .filter((beanName) -> !beanName.equals(LIST_BEAN))
        .toList();
  }

  private static InvalidConfigurationPropertyValueException invalid(String value, String reason) {
    return new InvalidConfigurationPropertyValueException(PROPERTY, value, reason);
  }

  /** Keeps only letters and digits and ignores case, as the binder does for enums. */
  private static String canonical(String name) {
    return name.replaceAll("[^\\p{L}\\p{Nd}]", "").toLowerCase(Locale.ROOT);
  }
}
