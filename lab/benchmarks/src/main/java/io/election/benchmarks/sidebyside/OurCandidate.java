package io.election.benchmarks.sidebyside;

import io.election.ElectionService;
import io.election.LeaderBound;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The starter in a Spring Boot application. */
final class OurCandidate implements Candidate {

  private static final String NO_DATABASE =
      "spring.autoconfigure.exclude=" + DataSourceAutoConfiguration.class.getName();

  private final CandidateSettings settings;

  private final Map<String, ElectionService> elections = new HashMap<>();

  private @Nullable Consumer consumer;

  OurCandidate(CandidateSettings settings) {
    this.settings = settings;
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {}

  @Configuration(proxyBeanMethods = false)
  static class ConsumerConfiguration {

    @Bean
    @LeaderBound
    Consumer consumer() {
      return new Consumer(SmartLifecycle.DEFAULT_PHASE);
    }
  }

  @Override
  public void join(List<String> elections) {
    List<String> properties = new ArrayList<>(List.of(
        "spring.main.banner-mode=off",
        "as.election.node-id=" + this.settings.node(),
        "as.election.service-id=" + elections.get(0)));
    properties.addAll(store());
    if (elections.size() > 1) {
      properties.add(
          "as.election.services=" + String.join(",", elections.subList(1, elections.size())));
    }
    if (!this.settings.defaults()) {
      properties.add("as.election.lease-duration=" + this.settings.lease().toMillis() + "ms");
      properties.add("as.election.renew-interval=" + this.settings.renew().toMillis() + "ms");
    }
    SpringApplicationBuilder application = new SpringApplicationBuilder(Application.class);
    if (this.settings.kind().isConsumer()) {
      application.sources(ConsumerConfiguration.class);
    }
    ConfigurableApplicationContext context = application
        .web(WebApplicationType.NONE)
        .run(properties.stream().map((property) -> "--" + property).toArray(String[]::new));
    context
        .getBeansOfType(ElectionService.class)
        .values()
        .forEach((election) -> this.elections.put(election.serviceId(), election));
    this.consumer = context.getBeanProvider(Consumer.class).getIfAvailable();
  }

  private List<String> store() {
    String address = this.settings.place().address();
    return switch (this.settings.kind().backend) {
      case MYSQL, POSTGRESQL, PGBOUNCER ->
        List.of(
            "spring.datasource.url=" + address,
            "spring.datasource.username=" + this.settings.place().username(),
            "spring.datasource.password=" + this.settings.place().password(),
            "spring.datasource.hikari.minimum-idle=0");
      case ZOOKEEPER ->
        List.of(
            NO_DATABASE,
            "as.election.algorithm=Zookeeper",
            "as.election.zookeeper.connect-string=" + address);
      case ETCD ->
        List.of(
            NO_DATABASE,
            "as.election.algorithm=Etcd",
            "as.election.etcd.endpoints=http://" + address);
    };
  }

  @Override
  public boolean isLeader(String election) {
    Consumer consumer = this.consumer;
    if (consumer != null) {
      return consumer.isRunning();
    }
    ElectionService service = this.elections.get(election);
    return service != null && service.isLeader();
  }

  @Override
  public void resign(String election) {
    Objects.requireNonNull(this.elections.get(election), election).lostLeader();
  }

  /** Does nothing, since Spring Boot's own shutdown hook closes the context. */
  @Override
  public void leave() {}
}
