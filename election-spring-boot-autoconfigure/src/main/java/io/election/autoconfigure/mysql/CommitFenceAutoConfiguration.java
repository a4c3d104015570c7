package io.election.autoconfigure.mysql;

import io.election.mysql.CommitFence;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.util.function.SingletonSupplier;

/**
 * Auto-configuration of the commit fence. In each context, since a post-processor sees the transaction
 * managers of its own alone.
 */
@AutoConfiguration(after = MysqlElectionAutoConfiguration.class)
@ConditionalOnClass({CommitFence.class, ConfigurableTransactionManager.class, ConnectionHolder.class
})
@ConditionalOnBean(FencedCalls.class)
public final class CommitFenceAutoConfiguration {

  CommitFenceAutoConfiguration() {}

  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static CommitFenceInstaller commitFenceInstaller(ObjectProvider<FencedCalls> calls) {
    return new CommitFenceInstaller(SingletonSupplier.of(calls::getObject));
  }
}
