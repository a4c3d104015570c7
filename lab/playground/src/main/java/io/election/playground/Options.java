package io.election.playground;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * The options of the command line.
 *
 * @param nodes the number of nodes
 * @param lease their {@code as.election.lease-duration}
 * @param renew their {@code as.election.renew-interval}
 * @param port the port of the console
 * @param wrongOne whether the nodes run hand-written SQL as well
 * @param url the URL of a database; {@code null} for an embedded one
 * @param username its user
 * @param password its password, from the environment
 */
record Options(
    int nodes,
    Duration lease,
    Duration renew,
    int port,
    boolean wrongOne,
    @Nullable String url,
    String username,
    String password) {

  private static final int DEFAULT_PORT = 8090;

  private static final String PASSWORD =
      "%s shows the password to all users of this machine. Set SPRING_DATASOURCE_PASSWORD in the environment instead.";

  private static final List<String> NAMES = List.of(
      "nodes",
      "lease",
      "renew",
      "server.port",
      "show-a-wrong-one",
      "spring.datasource.url",
      "spring.datasource.username");

  /**
   * Reads the options.
   *
   * @throws IllegalArgumentException if one is unknown or out of range; the message names it and
   *     the remedy
   */
  static Options parse(String... arguments) {
    return parse(System.getenv(), arguments);
  }

  static Options parse(Map<String, String> environment, String... arguments) {
    for (String argument : arguments) {
      String name = argument.replaceFirst("^--", "").replaceFirst("=.*", "");
      if (name.endsWith("password")) {
        throw new IllegalArgumentException(PASSWORD.formatted("--" + name));
      }
      if (!argument.startsWith("--") || !NAMES.contains(name)) {
        throw new IllegalArgumentException(
            "%s is not an option of the playground. Its options are --%s."
                .formatted(argument, String.join(", --", NAMES)));
      }
    }
    var given = new SimpleCommandLinePropertySource(arguments);
    int nodes = number("nodes", Objects.requireNonNullElse(given.getProperty("nodes"), "3"), 2, 5);
    Duration lease =
        duration("lease", Objects.requireNonNullElse(given.getProperty("lease"), "5s"));
    Duration renew =
        duration("renew", Objects.requireNonNullElse(given.getProperty("renew"), "1s"));
    if (renew.multipliedBy(3).compareTo(lease) > 0) {
      throw new IllegalArgumentException(
          "--renew=%s ms is too long for --lease=%s ms. Let the lease be at least three times as long."
              .formatted(renew.toMillis(), lease.toMillis()));
    }
    // The election refuses less, since a renewal may take two time-outs of a second.
    Duration least = renew.plusSeconds(2);
    if (lease.minus(lease.dividedBy(50)).compareTo(least) < 0) {
      throw new IllegalArgumentException(
          "--lease=%s ms is too short for --renew=%s ms. Let the lease be at least %s ms."
              .formatted(lease.toMillis(), renew.toMillis(), least.toMillis() * 50 / 49 + 1));
    }
    String port = given.getProperty("server.port");
    String url = given.getProperty("spring.datasource.url");
    if (url != null && !Address.URL.matcher(url).matches()) {
      throw new IllegalArgumentException(
          "--spring.datasource.url=%s is not the URL of a MySQL or MariaDB database. Write jdbc:mysql://host:port/database."
              .formatted(url));
    }
    if (url != null && url.matches("(?i).*[?&]password\\d?=.*")) {
      throw new IllegalArgumentException(PASSWORD.formatted("--spring.datasource.url"));
    }
    return new Options(
        nodes,
        lease,
        renew,
        port != null ? number("server.port", port, 0, 65535) : usualPort(),
        Arrays.stream(arguments).anyMatch((each) -> each.matches("--show-a-wrong-one(=true)?")),
        url,
        Objects.requireNonNullElse(given.getProperty("spring.datasource.username"), "root"),
        Objects.requireNonNullElse(environment.get("SPRING_DATASOURCE_PASSWORD"), ""));
  }

  private static int number(String name, String value, int least, int most) {
    if (value.matches("\\d{1,5}")) {
      int number = Integer.parseInt(value);
      if (number >= least && number <= most) {
        return number;
      }
    }
    throw new IllegalArgumentException("--%s=%s is not possible. Write a number from %s to %s."
        .formatted(name, value, least, most));
  }

  private static Duration duration(String name, String value) {
    try {
      Duration duration = DurationStyle.detectAndParse(value);
      if (duration.toMillis() >= 100 && duration.toMinutes() <= 10) {
        return duration;
      }
    } catch (IllegalArgumentException | ArithmeticException ex) {
      // the message below says what to write
    }
    throw new IllegalArgumentException(
        "--%s=%s is not possible. Write a time from 100ms to 10m, for example 5s."
            .formatted(name, value));
  }

  /** The default port, or any other one if that is taken, for example by another playground. */
  private static int usualPort() {
    try (ServerSocket socket =
        new ServerSocket(DEFAULT_PORT, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException ex) {
      return 0;
    }
  }
}
