package io.election.playground;

import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The server in the URL of a database.
 *
 * @param prefix what stands before it
 * @param host its host
 * @param port its port
 * @param suffix what stands behind it
 */
record Address(String prefix, String host, int port, String suffix) {

  static final Pattern URL =
      Pattern.compile("(jdbc:(?:mysql|mariadb)://)([\\w.-]+)(?::(\\d{1,5}))?(/[^,]+)");

  private static final int DEFAULT_PORT = 3306;

  static Address of(String url) {
    Matcher matcher = URL.matcher(url);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(url);
    }
    String port = matcher.group(3);
    return new Address(
        matcher.group(1),
        matcher.group(2),
        port != null ? Integer.parseInt(port) : DEFAULT_PORT,
        matcher.group(4));
  }

  InetSocketAddress socketAddress() {
    return new InetSocketAddress(host, port);
  }

  /** The URL of the same database through a port of this machine. */
  String through(int localPort) {
    return prefix + "127.0.0.1:" + localPort + suffix;
  }

  /** A URL with one more parameter. */
  static String with(String url, String parameters) {
    return url + (url.contains("?") ? "&" : "?") + parameters;
  }
}
