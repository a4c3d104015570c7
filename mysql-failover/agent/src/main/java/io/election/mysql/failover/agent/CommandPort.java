package io.election.mysql.failover.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Set;
import org.apache.catalina.connector.Connector;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.http.HttpHeaders;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Accepts commands at a port of their own and with a token. At the other port, which load balancers
 * and monitoring reach, everything can only be read.
 */
final class CommandPort extends OncePerRequestFilter
    implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

  private static final Logger log = LoggerFactory.getLogger(CommandPort.class);

  private static final int SHORTEST_TOKEN = 16;

  private final CommandProperties properties;

  /** The expected header; empty if no commands are accepted. */
  private final String authorization;

  CommandPort(CommandProperties properties) {
    this.properties = properties;
    Path file = properties.tokenFile();
    this.authorization = file == null ? "" : "Bearer " + token(file);
    if (file == null) {
      log.info("as.failover.commands.token-file is not set: this agent accepts no commands");
    }
  }

  private static String token(Path file) {
    String problem;
    try {
      String token = Files.readString(file).strip();
      if (token.length() >= SHORTEST_TOKEN) {
        return token;
      }
      problem = "it must contain at least " + SHORTEST_TOKEN + " characters";
    } catch (IOException ex) {
      problem = "it cannot be read: " + ex;
    }
    throw new InvalidConfigurationPropertyValueException(
        "as.failover.commands.token-file", file, problem);
  }

  @Override
  public void customize(TomcatServletWebServerFactory factory) {
    if (!this.authorization.isEmpty()) {
      Connector connector = new Connector();
      connector.setPort(this.properties.port());
      connector.setProperty("address", this.properties.address());
      factory.addAdditionalConnectors(connector);
    }
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (this.authorization.isEmpty() || request.getLocalPort() != this.properties.port()) {
      if (Set.of("GET", "HEAD").contains(request.getMethod())) {
        chain.doFilter(request, response);
      } else {
        refuse(
            response,
            403,
            this.authorization.isEmpty()
                ? "this agent accepts no commands: as.failover.commands.token-file is not set"
                : "commands are accepted at port %s of %s"
                    .formatted(this.properties.port(), this.properties.address()));
      }
    } else if (request.getHeader(HttpHeaders.ORIGIN) != null) {
      refuse(response, 403, "a page of a browser may not send commands");
    } else if (!isExpected(request.getHeader(HttpHeaders.AUTHORIZATION))) {
      response.setHeader(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
      refuse(response, 401, "send 'Authorization: Bearer <the token of the agent>'");
    } else {
      chain.doFilter(request, response);
    }
  }

  private boolean isExpected(String authorization) {
    return authorization != null
        && MessageDigest.isEqual(this.authorization.getBytes(UTF_8), authorization.getBytes(UTF_8));
  }

  private static void refuse(HttpServletResponse response, int status, String reason)
      throws IOException {
    response.setStatus(status);
    response.setContentType("text/plain");
    response.getWriter().println(reason);
  }
}
