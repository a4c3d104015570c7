package io.election.benchmarks.sidebyside;

import io.election.ElectionService;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The starter in a Spring Boot application. */
final class OurCandidate implements Candidate {

  private static final String NO_DATABASE =
      "spring.autoconfigure.exclude=" + DataSourceAutoConfiguration.class.getName();

  private final CandidateSettings settings;

  private final Map<String, ElectionService> elections = new HashMap<>();

  OurCandidate(CandidateSettings settings) {
    this.settings = settings;
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {}

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
    ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .run(properties.stream().map((property) -> "--" + property).toArray(String[]::new));
    context
        .getBeansOfType(ElectionService.class)
        .values()
        .forEach((election) -> this.elections.put(election.serviceId(), election));
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
    ElectionService service = this.elections.get(election);
    return service != null && service.isLeader();
  }

  /** Does nothing, since Spring Boot's own shutdown hook closes the context. */
  @Override
  public void leave() {}
}
