package io.election.autoconfigure.settings;

import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * A test whose database is in memory and whose settings say nothing about the election. Its process
 * is alone, and counts as leader.
 *
 * <p>All three count. Spring Boot gives a production node without a URL such a database too, and
 * there every node would lead.
 */
final class TestInMemory {

  /**
   * The bean by which {@link TestContextMark} marks a context. That class cannot be loaded where
   * there is no Spring Test.
   */
  static final String MARK = "electionTestContextMark";

  private static final Pattern URL = Pattern.compile(
      "jdbc:([\\w-]+:)*(h2:mem:|hsqldb:mem:|derby:memory:|sqlite:(:memory:|.*[?&]mode=memory)).*");

  private static final String DATA_SOURCE = "spring.datasource.";

  private static final String SPRING_BOOT = "org.springframework.boot.jdbc.autoconfigure.";

  private TestInMemory() {}

  /** Returns whether this is such a test. The beans of the database must be registered. */
  static boolean is(ConditionContext context) {
    ConfigurableListableBeanFactory beanFactory = Objects.requireNonNull(context.getBeanFactory());
    Environment environment = context.getEnvironment();
    return beanFactory.containsBean(MARK)
        && !ElectionAlgorithm.isNamed(environment)
        && !isSet(environment, "as.election.enabled")
        && isInMemory(beanFactory, environment);
  }

  private static boolean isInMemory(
      ConfigurableListableBeanFactory beanFactory, Environment environment) {
    String[] sources = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
        beanFactory, DataSource.class, true, false);
    Class<?> details = type(SPRING_BOOT + "JdbcConnectionDetails");
    boolean settingsDecide = Stream.concat(
            Stream.of(sources),
            details == null
                ? Stream.empty()
                : Stream.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
                    beanFactory, details, true, false)))
        .allMatch((name) -> isOfSpringBoot(beanFactory, name));
    String url = ElectionAlgorithm.url(environment);
    return settingsDecide
        && (url != null ? isInMemory(url) : sources.length > 0)
        && !isSet(environment, DATA_SOURCE + "hikari.data-source-class-name")
        && !isSet(environment, DATA_SOURCE + "hikari.data-source-j-n-d-i");
  }

  /** Returns whether a URL leads to a database in the memory of this process. */
  static boolean isInMemory(String url) {
    return URL.matcher(url).matches();
  }

  /** Whether Spring Boot made a bean from the settings; without a URL, in memory. */
  private static boolean isOfSpringBoot(ConfigurableListableBeanFactory beanFactory, String name) {
    if (!beanFactory.containsBeanDefinition(name)) {
      return false;
    }
    String factory = beanFactory.getBeanDefinition(name).getFactoryBeanName();
    return factory != null && factory.startsWith(SPRING_BOOT);
  }

  private static boolean isSet(Environment environment, String name) {
    return Binder.get(environment).bind(name, String.class).isBound();
  }

  private static @Nullable Class<?> type(String name) {
    ClassLoader classLoader = ClassUtils.getDefaultClassLoader();
    return ClassUtils.isPresent(name, classLoader)
        ? ClassUtils.resolveClassName(name, classLoader)
        : null;
  }
}
