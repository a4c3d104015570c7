package io.election.autoconfigure.zookeeper;

import io.election.ElectionService;
import io.election.ElectionSetupException;
import io.election.autoconfigure.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionProperties;
import io.election.autoconfigure.StoreSettings;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.zookeeper.ZookeeperLeaseStore;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of the lease in ZooKeeper, unless the application has a {@code
 * zookeeperLeaseStore} of its own.
 */
@AutoConfiguration(before = ElectionAutoConfiguration.class)
@ConditionalOnClass(ZookeeperLeaseStore.class)
@ConditionalOnElectionAlgorithm("Zookeeper")
@ConditionalOnMissingBean(value = ElectionService.class, name = "zookeeperLeaseStore")
@EnableConfigurationProperties(ElectionProperties.class)
public final class ZookeeperElectionAutoConfiguration {

  private static final String PREFIX = "as.election.zookeeper";

  ZookeeperElectionAutoConfiguration() {}

  @Bean
  LeaseStore zookeeperLeaseStore(
      LeaseSettings settings, ElectionProperties properties, Environment environment)
      throws LeaseStoreException {
    ElectionProperties.Zookeeper zookeeper = properties.zookeeper();
    String connectString = StoreSettings.required(
        PREFIX + ".connect-string",
        zookeeper.connectString(),
        "it must name the servers of ZooKeeper; write for instance zoo1:2181,zoo2:2181,zoo3:2181");
    String user = StoreSettings.user(PREFIX, zookeeper.username(), zookeeper.password());
    ZookeeperLeaseStore.Builder builder =
        builder(connectString).operationTimeout(settings.operationTimeout());
    try {
      builder.root(zookeeper.root());
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(PREFIX + ".root", zookeeper.root(), ex);
    }
    @Nullable String password = zookeeper.password();
    if (!user.isEmpty() && password != null) {
      builder.credentials(user, password);
    }
    return StoreSettings.reachable(builder.build(), properties, environment);
  }

  private static ZookeeperLeaseStore.Builder builder(String connectString) {
    try {
      return ZookeeperLeaseStore.builder(connectString);
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(PREFIX + ".connect-string", connectString, ex);
    }
  }
}
