package io.election.autoconfigure.zookeeper;

import io.election.ElectionService;
import io.election.ElectionSetupException;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.settings.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.zookeeper.ZookeeperFence;
import io.election.zookeeper.ZookeeperLeaseStore;
import org.apache.curator.framework.CuratorFramework;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Auto-configuration of the lease in ZooKeeper, unless the application has a {@code
 * zookeeperLeaseStore} of its own.
 */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = "org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration")
@ConditionalOnClass(ZookeeperLeaseStore.class)
@ConditionalOnElectionAlgorithm("Zookeeper")
@ConditionalOnMissingBean(value = ElectionService.class, name = "zookeeperLeaseStore")
@EnableConfigurationProperties(ElectionProperties.class)
public final class ZookeeperElectionAutoConfiguration {

  private static final String PREFIX = "as.election.zookeeper";

  private static final String CURATOR = "org.apache.curator.framework.CuratorFramework";

  ZookeeperElectionAutoConfiguration() {}

  @Bean
  LeaseStore zookeeperLeaseStore(
      LeaseSettings settings,
      ElectionProperties properties,
      ObjectProvider<SslBundles> bundles,
      ListableBeanFactory beans,
      Environment environment)
      throws LeaseStoreException {
    return StoreSettings.reachable(
        connection(settings, properties, bundles, beans)
            .operationTimeout(StoreSettings.operationTimeout(settings, environment))
            .build(),
        properties,
        environment);
  }

  /** A fence for work on the same ZooKeeper, which connects upon the first call. */
  @Bean
  @ConditionalOnMissingBean
  ZookeeperFence zookeeperFence(
      LeaseSettings settings,
      ElectionProperties properties,
      ObjectProvider<SslBundles> bundles,
      ListableBeanFactory beans) {
    return connection(settings, properties, bundles, beans).buildFence();
  }

  private static ZookeeperLeaseStore.Builder connection(
      LeaseSettings settings,
      ElectionProperties properties,
      ObjectProvider<SslBundles> bundles,
      ListableBeanFactory beans) {
    ElectionProperties.Zookeeper zookeeper = properties.zookeeper();
    String connectString = connectString(zookeeper, beans);
    String user = StoreSettings.user(PREFIX, zookeeper.username(), zookeeper.password());
    ZookeeperLeaseStore.Builder builder =
        builder(connectString).operationTimeout(settings.operationTimeout());
    try {
      builder.root(zookeeper.root());
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(PREFIX + ".root", zookeeper.root(), ex);
    }
    @Nullable String acl = zookeeper.acl();
    if (acl != null) {
      try {
        builder.acl(acl);
      } catch (ElectionSetupException ex) {
        throw StoreSettings.invalid(PREFIX + ".acl", acl, ex);
      }
    }
    @Nullable String password = zookeeper.password();
    if (!user.isEmpty() && password != null) {
      builder.credentials(user, password);
    }
    SslBundle bundle = StoreSettings.bundle(PREFIX, zookeeper.ssl(), bundles);
    if (bundle != null) {
      SslStoreBundle stores = bundle.getStores();
      String keyPassword = bundle.getKey().getPassword();
      builder.tls(
          stores.getKeyStore(),
          keyPassword != null ? keyPassword : stores.getKeyStorePassword(),
          stores.getTrustStore());
    }
    return builder;
  }

  private static String connectString(
      ElectionProperties.Zookeeper zookeeper, ListableBeanFactory beans) {
    String own = zookeeper.connectString();
    if (own == null && ClassUtils.isPresent(CURATOR, null)) {
      own = Curator.connectString(beans);
    }
    return StoreSettings.required(
        PREFIX + ".connect-string",
        own,
        "it must name the servers of ZooKeeper, unless there is one CuratorFramework; write for instance zoo1:2181,zoo2:2181,zoo3:2181");
  }

  private static ZookeeperLeaseStore.Builder builder(String connectString) {
    try {
      return ZookeeperLeaseStore.builder(connectString);
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(PREFIX + ".connect-string", connectString, ex);
    }
  }

  /** The application's client, which lends its servers and its namespace, but not its session. */
  private static final class Curator {

    private Curator() {}

    static @Nullable String connectString(ListableBeanFactory beans) {
      CuratorFramework client = beans.getBeanProvider(CuratorFramework.class).getIfUnique();
      if (client == null) {
        return null;
      }
      String namespace = client.getNamespace();
      String servers = client.getZookeeperClient().getCurrentConnectionString();
      return namespace == null || namespace.isEmpty() ? servers : servers + "/" + namespace;
    }
  }
}
