package io.election.mysql;

import static java.util.regex.Pattern.CASE_INSENSITIVE;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The hosts of a JDBC URL.
 *
 * <p>Neither driver looks for the host that accepts writes. Connector/J opens each connection to
 * the first host that answers, or to any host, and may change hosts after a commit.
 */
final class JdbcHosts {

  /** Modes in which any of the hosts may be the one that accepts writes. */
  private static final Pattern SEVERAL = Pattern.compile(
      "(jdbc:(?:mysql|mariadb):)(?:(?:loadbalance|sequential|failover):)?//([^/?]*,[^/?]*)(.*)");

  private static final Pattern FIRST_ALONE =
      Pattern.compile("jdbc:mysql://(?!.*[?&]failOverReadOnly=false(&|$)).*", CASE_INSENSITIVE);

  private JdbcHosts() {}

  /**
   * Splits a URL into one URL per host.
   *
   * @param url a JDBC URL
   * @return a URL for each host, in the order of the hosts; the unchanged URL if it has only one
   *     host or specifies which host accepts writes
   */
  static List<String> split(String url) {
    return FIRST_ALONE.matcher(url).matches() ? List.of(url) : splitAny(url);
  }

  /**
   * Returns whether Connector/J writes only to the first of several hosts, which is its default.
   */
  static boolean writesToFirstAlone(String url) {
    return FIRST_ALONE.matcher(url).matches() && splitAny(url).size() > 1;
  }

  private static List<String> splitAny(String url) {
    Matcher several = SEVERAL.matcher(url);
    if (!several.matches() || several.group(2).toLowerCase(Locale.ROOT).contains("type=")) {
      return List.of(url);
    }
    List<String> urls = new ArrayList<>();
    for (String host : hosts(several.group(2))) {
      urls.add(several.group(1) + "//" + host + several.group(3));
    }
    return urls;
  }

  /** Splits at commas outside brackets. */
  private static List<String> hosts(String authority) {
    List<String> hosts = new ArrayList<>();
    int depth = 0;
    int begin = 0;
    for (int i = 0; i < authority.length(); i++) {
      char c = authority.charAt(i);
      if (c == '(' || c == '[') {
        depth++;
      } else if (c == ')' || c == ']') {
        depth--;
      } else if (c == ',' && depth == 0) {
        hosts.add(authority.substring(begin, i).strip());
        begin = i + 1;
      }
    }
    hosts.add(authority.substring(begin).strip());
    return hosts;
  }

  /** Host and port of a URL with one host, for messages. */
  static String host(String url) {
    return ElectionDatabase.location(url).replaceFirst("/.*$", "");
  }
}
