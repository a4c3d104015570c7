package io.election.autoconfigure.etcd;

import io.election.ElectionService;
import io.election.ElectionSetupException;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.settings.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.etcd.EtcdFence;
import io.election.etcd.EtcdLeaseStore;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslManagerBundle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of the lease in etcd, unless the application has an {@code etcdLeaseStore} of
 * its own.
 */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = "org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration")
@ConditionalOnClass(EtcdLeaseStore.class)
@ConditionalOnElectionAlgorithm("Etcd")
@ConditionalOnMissingBean(value = ElectionService.class, name = "etcdLeaseStore")
@EnableConfigurationProperties(ElectionProperties.class)
public final class EtcdElectionAutoConfiguration {

  private static final String PREFIX = "as.election.etcd";

  EtcdElectionAutoConfiguration() {}

  @Bean
  LeaseStore etcdLeaseStore(
      LeaseSettings settings,
      ElectionProperties properties,
      ObjectProvider<SslBundles> bundles,
      Environment environment)
      throws LeaseStoreException {
    return StoreSettings.reachable(
        connection(settings, properties, bundles)
            .operationTimeout(StoreSettings.operationTimeout(settings, environment))
            .build(),
        properties,
        environment);
  }

  /** A fence for work on the same etcd, which connects upon the first call. */
  @Bean
  @ConditionalOnMissingBean
  EtcdFence etcdFence(
      LeaseSettings settings, ElectionProperties properties, ObjectProvider<SslBundles> bundles) {
    return connection(settings, properties, bundles).buildFence();
  }

  private static EtcdLeaseStore.Builder connection(
      LeaseSettings settings, ElectionProperties properties, ObjectProvider<SslBundles> bundles) {
    ElectionProperties.Etcd etcd = properties.etcd();
    EtcdLeaseStore.Builder builder =
        builder(etcd.endpoints()).operationTimeout(settings.operationTimeout());
    try {
      builder.prefix(etcd.prefix());
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(PREFIX + ".prefix", etcd.prefix(), ex);
    }
    String user = StoreSettings.user(PREFIX, etcd.username(), etcd.password());
    @Nullable String password = etcd.password();
    if (!user.isEmpty() && password != null) {
      builder.login(user, password);
    }
    requireTls(etcd);
    SslBundle bundle = StoreSettings.bundle(PREFIX, etcd.ssl(), bundles);
    if (bundle != null) {
      SslManagerBundle managers = bundle.getManagers();
      builder.tls(managers.getKeyManagers(), managers.getTrustManagers());
    }
    return builder;
  }

  private static EtcdLeaseStore.Builder builder(List<String> endpoints) {
    String property = PREFIX + ".endpoints";
    // An endpoint may hold a password by mistake.
    String value = String.join(",", endpoints).replaceAll("//[^/,]*@", "//…@");
    StoreSettings.required(
        property,
        endpoints.isEmpty() ? null : value,
        "it must name the members of the cluster; write for instance http://etcd-1:2379,http://etcd-2:2379,http://etcd-3:2379");
    try {
      return EtcdLeaseStore.builder(endpoints);
    } catch (ElectionSetupException ex) {
      throw StoreSettings.invalid(property, value, ex);
    }
  }

  private static void requireTls(ElectionProperties.Etcd etcd) {
    String bundle = etcd.ssl().bundle();
    if (bundle != null && !etcd.endpoints().get(0).startsWith("https:")) {
      throw new InvalidConfigurationPropertyValueException(
          PREFIX + ".ssl.bundle",
          bundle,
          "the endpoints do not use TLS; write them as https://host:2379");
    }
  }
}
