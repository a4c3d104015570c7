package io.election.playground;

import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.http.converter.autoconfigure.HttpMessageConvertersAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.servlet.TomcatServletWebServerAutoConfiguration;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

/**
 * Starts a database, some nodes of the sample and the console. The class path is that of the nodes,
 * so only the parts of Spring Boot that the console needs are configured.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@ImportAutoConfiguration({
  DispatcherServletAutoConfiguration.class,
  HttpMessageConvertersAutoConfiguration.class,
  JacksonAutoConfiguration.class,
  TomcatServletWebServerAutoConfiguration.class,
  WebMvcAutoConfiguration.class
})
@Import({ConsoleController.class, DocsController.class})
public class PlaygroundApplication {

  private static final Logger log = LoggerFactory.getLogger(PlaygroundApplication.class);

  /** The console has no foreign content, and nobody else's page shows it. */
  private static final Map<String, String> HEADERS = Map.of(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "X-Content-Type-Options",
      "nosniff",
      "Cache-Control",
      "no-store");

  /** Starts the playground; ends with a message if the arguments are wrong. */
  public static void main(String[] arguments) {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (IllegalArgumentException ex) {
      System.err.println(ex.getMessage());
      System.exit(2);
      return;
    }
    start(options, arguments);
  }

  /** Starts the playground in this process. */
  static ConfigurableApplicationContext start(Options options, String... arguments) {
    SpringApplication application = new SpringApplication(PlaygroundApplication.class);
    application.setDefaultProperties(Map.of(
        "spring.config.name", "playground", // application.yaml is that of the nodes
        "logging.level.org.mariadb.jdbc", "off", // the page shows why the database does not answer
        "spring.main.banner-mode", "off",
        "server.address", "127.0.0.1",
        "server.port", options.port(),
        "server.shutdown", "immediate",
        "logging.level.org.springframework.web.servlet.mvc.support", "error", // streams end
        "logging.level.root", "warn",
        "logging.pattern.console", "%date{HH:mm:ss} %m%n",
        "logging.level.io.election", "info"));
    application.addInitializers(
        (context) -> context.getBeanFactory().registerSingleton("options", options));
    return application.run(arguments);
  }

  @Bean
  Playground playground(Options options) {
    return new Playground(options);
  }

  @Bean
  LoopbackFilter loopbackFilter() {
    return new LoopbackFilter(HEADERS);
  }

  @EventListener
  void on(WebServerInitializedEvent event) {
    log.info(
        "the playground is at http://127.0.0.1:{}/ and ends with Ctrl-C",
        event.getWebServer().getPort());
    event.getApplicationContext().getBean(Playground.class).begin();
  }
}
