package io.election.autoconfigure;

import io.election.mysql.CommitFence;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

/** Puts the commit fence before the transaction managers that work on the election's database. */
final class CommitFenceInstaller implements BeanPostProcessor {

  private static final Logger log = LoggerFactory.getLogger(CommitFenceInstaller.class);

  private static final boolean HAS_JPA = ClassUtils.isPresent(
      "org.springframework.orm.jpa.JpaTransactionManager",
      CommitFenceInstaller.class.getClassLoader());

  private final Supplier<FencedCalls> calls;

  private final Supplier<CommitFence> fence;

  private final Supplier<ElectionConnection> connection;

  CommitFenceInstaller(
      Supplier<FencedCalls> calls,
      Supplier<CommitFence> fence,
      Supplier<ElectionConnection> connection) {
    this.calls = calls;
    this.fence = fence;
    this.connection = connection;
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    if (bean instanceof ConfigurableTransactionManager transactionManager) {
      DataSource dataSource = dataSourceOf(bean);
      if (dataSource != null) {
        transactionManager.addListener(listener(dataSource, beanName));
      }
    }
    return bean;
  }

  private TransactionExecutionListener listener(DataSource dataSource, String beanName) {
    Supplier<Boolean> concerned = SingletonSupplier.of(() -> {
      boolean shared = this.connection.get().isShared(dataSource);
      log.info(
          "leader-only transactions of '{}' {}",
          beanName,
          shared
              ? "are fenced: they commit only in the term in which they began"
              : "are not fenced: they are not on the election's database, as far as its URL tells");
      return shared;
    });
    return new CommitFenceListener(this.calls, this.fence, dataSource, concerned::get);
  }

  private static @Nullable DataSource dataSourceOf(Object transactionManager) {
    if (transactionManager instanceof ResourceTransactionManager resources
        && resources.getResourceFactory() instanceof DataSource dataSource) {
      return dataSource;
    }
    return HAS_JPA ? Jpa.dataSourceOf(transactionManager) : null;
  }

  /** Apart, so that the class above loads without JPA. */
  private static final class Jpa {

    static @Nullable DataSource dataSourceOf(Object transactionManager) {
      return transactionManager instanceof JpaTransactionManager jpa ? jpa.getDataSource() : null;
    }
  }
}
