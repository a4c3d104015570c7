package io.election.autoconfigure.commitfence;

import io.election.jdbc.CommitFence;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.util.function.SingletonSupplier;

/** Auto-configuration of the commit fence. */
@AutoConfiguration(afterName = "io.election.autoconfigure.jdbc.JdbcElectionAutoConfiguration")
@ConditionalOnClass({CommitFence.class, JdbcConnectionDetails.class})
public final class CommitFenceAutoConfiguration {

  CommitFenceAutoConfiguration() {}

  /**
   * Present in each context, because a post-processor sees only the transaction managers of its
   * own.
   */
  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  @ConditionalOnBean(FencedCalls.class)
  static BeanPostProcessor commitFenceInstaller(FencedCalls calls) {
    return new CommitFenceInstaller(() -> calls);
  }

  /**
   * A class of its own, so that its bean is known before the condition above asks for it. The bean
   * requests others only when a transaction needs them.
   */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnBean(value = FencedDatabases.class, search = SearchStrategy.CURRENT)
  @Conditional(OnCommitFenceCondition.class)
  static class CallsConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static FencedCalls fencedCalls(ObjectProvider<FencedDatabases> databases) {
      return new FencedCalls(new FencedConnections(SingletonSupplier.of(databases::getObject)));
    }
  }
}
