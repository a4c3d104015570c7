package io.election.autoconfigure.actuate;

import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.context.ApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;

/** The leader endpoint with all details, for tests of other packages. */
public final class EndpointAccess {

  public static final Class<?> TYPE = LeaderEndpoint.class;

  public static final Class<?> PROPERTIES = LeaderEndpointProperties.class;

  private final LeaderEndpoint endpoint;

  public EndpointAccess(ApplicationContext context) {
    this.endpoint = new LeaderEndpoint(
        context.getBean(Elections.class),
        context.getBeanProvider(ElectionBackend.class).getIfAvailable(),
        context.getBean(LeaderBoundBeans.class),
        new LeaderEndpointProperties(Show.ALWAYS, Set.of()));
  }

  /** Exposes the endpoint as the start of an application does. */
  public static void expose(ConfigurableEnvironment environment) {
    new LeaderEndpointExposureEnvironmentPostProcessor()
        .postProcessEnvironment(environment, new SpringApplication());
  }

  public Map<String, Object> elections() {
    return this.endpoint.elections(SecurityContext.NONE);
  }

  public @Nullable Map<String, Object> election(String name) {
    return this.endpoint.election(path(name), null, SecurityContext.NONE).getBody();
  }

  public WebEndpointResponse<Map<String, Object>> designate(
      String name, String leaderId, @Nullable Boolean force) {
    return this.endpoint.designateOrPause(
        path(name), null, leaderId, null, force, SecurityContext.NONE);
  }

  public WebEndpointResponse<Map<String, Object>> depose(String name, String leaderId, long term) {
    return this.endpoint.forceElectionOrResume(
        path(name), null, leaderId, "" + term, null, SecurityContext.NONE);
  }

  public WebEndpointResponse<Map<String, Object>> forceElection(String name, String reason) {
    return this.endpoint.forceElectionOrResume(
        path(name), null, null, null, reason, SecurityContext.NONE);
  }

  private static String[] path(String name) {
    return new String[] {name};
  }
}
