package io.election.autoconfigure.leaderonly;

import io.election.Fence;
import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.ElectionsConfiguration;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.StoreSettings;
import java.time.InstantSource;
import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/** Auto-configuration of {@link LeaderOnly}. */
@AutoConfiguration(
    after = ElectionAutoConfiguration.class,
    afterName = "org.springframework.boot.autoconfigure.aop.AopAutoConfiguration")
@Import({ElectionsConfiguration.class, LeaderOnlyAutoConfiguration.AutoProxyRegistrar.class})
@EnableConfigurationProperties(ElectionProperties.class)
public final class LeaderOnlyAutoConfiguration {

  LeaderOnlyAutoConfiguration() {}

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderOnlyCalls leaderOnlyCalls(
      ObjectProvider<Elections> elections, ObjectProvider<Fence> fence) {
    return new LeaderOnlyCalls(elections::getObject, fence::getIfAvailable);
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderOnlyMethods leaderOnlyMethods(ConfigurableListableBeanFactory beanFactory) {
    return new LeaderOnlyMethods(beanFactory::resolveEmbeddedValue);
  }

  /** Created before most beans, so it requests other beans only when a guarded method is called. */
  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderOnlyAdvisor leaderOnlyAdvisor(
      LeaderOnlyMethods methods, ObjectProvider<LeaderOnlyCalls> calls) {
    return new LeaderOnlyAdvisor(methods, calls::getObject);
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderOnlyValidator leaderOnlyCheck(
      ConfigurableListableBeanFactory beanFactory,
      LeaderOnlyMethods methods,
      ObjectProvider<Elections> elections,
      Environment environment) {
    return new LeaderOnlyValidator(
        beanFactory, methods, elections::getObject, proxiesClasses(environment));
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static MergedBeanDefinitionPostProcessor leaderOnlyDefinitionCheck(LeaderOnlyMethods methods) {
    return LeaderOnlyValidator.ofDefinitions(methods);
  }

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderBoundBeans leaderBoundBeans(
      ApplicationContext context,
      ConfigurableListableBeanFactory beanFactory,
      LeaderOnlyMethods methods,
      LeaderOnlyCalls calls,
      ElectionProperties properties,
      Environment environment) {
    ThreadFactory threads = threads(beanFactory.getBeanClassLoader());
    LeaderBoundBean.Shared shared = new LeaderBoundBean.Shared(
        calls,
        StoreSettings.startTimeout(properties),
        (task) -> threads.newThread(task).start(),
        LeaderBoundBean::pause,
        System::nanoTime,
        InstantSource.system());
    return new LeaderBoundBeans(
        context,
        new LeaderBoundFinder(beanFactory, methods, properties.leaderBound().listeners(), shared),
        threads,
        properties.drainTimeout(environment));
  }

  @Bean(name = LeaderBoundBeans.STOP, autowireCandidate = false)
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static LeaderBoundBeans.Stop leaderBoundStop(LeaderBoundBeans beans) {
    return new LeaderBoundBeans.Stop(beans);
  }

  /** Creates threads that see the classes of the application. */
  private static ThreadFactory threads(@Nullable ClassLoader loader) {
    return (task) -> {
      Thread thread = new Thread(task, "election-leader-bound");
      thread.setContextClassLoader(loader);
      thread.setDaemon(true);
      return thread;
    };
  }

  /**
   * Auto-configured elections report changes without events, since an event may have to wait for
   * other listeners. A child context may have elections that report changes only by events.
   */
  @Bean
  @ConditionalOnMissingBean(value = ElectionBackend.class, search = SearchStrategy.CURRENT)
  PublishedEvents publishedEvents(LeaderOnlyCalls calls) {
    return new PublishedEvents(calls);
  }

  private static boolean proxiesClasses(Environment environment) {
    return environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true);
  }

  /**
   * Ensures that infrastructure advisors are applied, even without AspectJ and with {@code
   * spring.aop.auto=false}.
   */
  static final class AutoProxyRegistrar implements ImportBeanDefinitionRegistrar {

    private final Environment environment;

    AutoProxyRegistrar(Environment environment) {
      this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(
        AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
      AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
      if (proxiesClasses(this.environment)) {
        AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
      }
    }
  }
}
