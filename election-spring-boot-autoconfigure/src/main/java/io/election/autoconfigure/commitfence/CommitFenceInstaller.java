package io.election.autoconfigure.commitfence;

import jakarta.persistence.EntityManagerFactory;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ClassUtils;

/**
 * Adds the commit fence to the transaction managers of an application, including those created too
 * early for a post-processor and those of its parent contexts.
 */
final class CommitFenceInstaller
    implements BeanPostProcessor, SmartInitializingSingleton, BeanFactoryAware, DisposableBean {

  private static final boolean HAS_JPA = isPresent("jpa.JpaTransactionManager")
      && ClassUtils.isPresent(
          "jakarta.persistence.EntityManagerFactory", CommitFenceInstaller.class.getClassLoader());

  private static final boolean HAS_HIBERNATE = HAS_JPA
      && isPresent("jpa.hibernate.HibernateTransactionManager")
      && ClassUtils.isPresent(
          "org.hibernate.SessionFactory", CommitFenceInstaller.class.getClassLoader());

  private final Supplier<FencedCalls> calls;

  /** Listeners in transaction managers of parent contexts, which outlive this context. */
  private final Map<ConfigurableTransactionManager, CommitFenceListener> borrowed =
      new ConcurrentHashMap<>();

  private @Nullable BeanFactory beanFactory;

  CommitFenceInstaller(Supplier<FencedCalls> calls) {
    this.calls = calls;
  }

  @Override
  public void setBeanFactory(BeanFactory beanFactory) {
    this.beanFactory = beanFactory;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    install(bean, beanName, false);
    return bean;
  }

  @Override
  public void afterSingletonsInstantiated() {
    for (BeanFactory factory = this.beanFactory;
        factory instanceof ConfigurableListableBeanFactory beans;
        factory = beans.getParentBeanFactory()) {
      for (Class<?> type :
          new Class<?>[] {PlatformTransactionManager.class, TransactionTemplate.class}) {
        for (String name : beans.getBeanNamesForType(type, false, false)) {
          Object bean = beans.getSingleton(name);
          if (bean != null) {
            install(bean, name, beans != this.beanFactory);
          }
        }
      }
    }
  }

  /**
   * Removes the listeners from parent contexts only. Work that still runs after this context is
   * closed stays fenced by the context's own managers.
   */
  @Override
  public void destroy() {
    this.borrowed.forEach((manager, ours) ->
        manager.setTransactionExecutionListeners(manager.getTransactionExecutionListeners().stream()
            .filter((listener) -> listener != ours)
            .toList()));
  }

  private void install(Object bean, String beanName, boolean isBorrowed) {
    if (bean instanceof TransactionTemplate template) {
      PlatformTransactionManager manager = template.getTransactionManager();
      if (manager != null) {
        install(manager, beanName, isBorrowed);
      }
    } else if (bean instanceof PlatformTransactionManager
        && bean instanceof ConfigurableTransactionManager manager
        && manager.getTransactionExecutionListeners().stream()
            .noneMatch((listener) ->
                listener instanceof CommitFenceListener ours && ours.isOf(this.calls))) {
      CommitFenceListener listener = listener(manager, beanName);
      manager.addListener(listener);
      if (isBorrowed) {
        this.borrowed.put(manager, listener);
      }
    }
  }

  private CommitFenceListener listener(ConfigurableTransactionManager manager, String beanName) {
    BooleanSupplier keepsConnection = () -> true;
    DataSource dataSource = null;
    boolean opaque = !(manager instanceof ResourceTransactionManager);
    if (manager instanceof ResourceTransactionManager resources
        && resources.getResourceFactory() instanceof DataSource factory) {
      dataSource = factory;
    } else if (HAS_JPA && Jpa.isJpa(manager)) {
      dataSource = Jpa.dataSourceOf(manager);
      opaque = dataSource == null;
      keepsConnection = () -> Jpa.keepsConnection(manager);
    }
    return new CommitFenceListener(this.calls, beanName, dataSource, opaque, keepsConnection);
  }

  private static boolean isPresent(String name) {
    return ClassUtils.isPresent(
        "org.springframework.orm." + name, CommitFenceInstaller.class.getClassLoader());
  }

  /** A separate class, so that the outer class loads without JPA. */
  private static final class Jpa {

    static boolean isJpa(Object transactionManager) {
      return transactionManager instanceof JpaTransactionManager
          || (HAS_HIBERNATE && Hibernate.isHibernate(transactionManager));
    }

    static @Nullable DataSource dataSourceOf(Object transactionManager) {
      if (transactionManager instanceof JpaTransactionManager jpa) {
        return jpa.getDataSource();
      }
      return Hibernate.dataSourceOf(transactionManager);
    }

    /**
     * Whether the persistence unit holds its connection until it is closed, as Spring configures
     * Hibernate to do. Other units return the connection within the commit.
     */
    static boolean keepsConnection(Object transactionManager) {
      return transactionManager instanceof ResourceTransactionManager resources
          && resources.getResourceFactory() instanceof EntityManagerFactory factory
          && String.valueOf(factory.getProperties().get("hibernate.connection.handling_mode"))
              .toUpperCase(Locale.ROOT)
              .endsWith("_HOLD");
    }
  }

  /** A separate class, so that the outer classes load without Hibernate. */
  private static final class Hibernate {

    static boolean isHibernate(Object transactionManager) {
      return transactionManager instanceof HibernateTransactionManager;
    }

    static @Nullable DataSource dataSourceOf(Object transactionManager) {
      return ((HibernateTransactionManager) transactionManager).getDataSource();
    }
  }
}
