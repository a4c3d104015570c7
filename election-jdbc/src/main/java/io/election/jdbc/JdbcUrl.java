package io.election.jdbc;

import static java.util.regex.Pattern.CASE_INSENSITIVE;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A JDBC URL: its hosts, where it leads, what it sets, and what in it may be secret.
 *
 * <p>By default no driver looks for the host that accepts writes. One opens each connection
 * to the first host that answers, or to any host, and may change hosts after a commit.
 *
 * @param text a JDBC URL of any database, with its secrets
 */
public record JdbcUrl(String text) {

  /** Names the place if no part of the URL is known to hold no secret. */
  static final String UNKNOWN = "the election's database";

  private static final Pattern SCHEME = Pattern.compile("jdbc:[\\w+:.%-]*//");

  /** Modes in which any of the hosts may be the one that accepts writes. */
  private static final Pattern ANY_HOST =
      Pattern.compile("(jdbc:\\w+:)(?:(?:loadbalance|sequential|failover):)?//([^/?]*,[^/?]*)(.*)");

  private static final Pattern ANY_HOST_WRITES =
      Pattern.compile("[?&]failOverReadOnly=false(&|$)", CASE_INSENSITIVE);

  private static final Pattern PARAMETERS = Pattern.compile("[?;#]");
  private static final Pattern WITH_AT =
      Pattern.compile("\\?(?:[\\w.-]+=[^&]*&)*[\\w.-]+=[^&/@]*@[^&/@]*(?:&[^@]*)?");
  private static final Pattern HOSTS =
      Pattern.compile("\\[?(?:(?:[\\p{L}\\p{N}_.-]*|\\[[\\p{XDigit}:.%]+])(?::\\d+)?(?:,|]?$))*");
  /** One of several hosts, between commas that are not in brackets. */
  private static final Pattern HOST = Pattern.compile("(?:\\([^)]*\\)|\\[[^]]*]|[^,])+");

  private static final Pattern HOST_OR_PORT = Pattern.compile(
      "(?i)[(,]\\s*(host|port)\\s*=\\s*([\\p{L}\\p{N}_.:%-]+|\\[[\\p{XDigit}:.%]+])\\s*(?=[),])");
  private static final Pattern DATABASE_AFTER_KEYS = Pattern.compile("\\)]?(/[^()=,:@]*)$");

  private static final Pattern SECRET_NAME = Pattern.compile("(?i)password|pwd|secret|token");

  /** Where a URL may contain secrets: before an at sign, in brackets, as a host, in parameters. */
  private static final List<Pattern> SECRETS = Stream.of(
          "//.*@", "\\(.*\\)", "//[^/?]*", "[?&;]\\w*(?:" + SECRET_NAME + ")\\w*=[^&;]*")
      .map(Pattern::compile)
      .toList();

  /**
   * Describes the URL without its secrets, for messages.
   *
   * @return scheme, hosts, ports and database
   */
  public String describe() {
    String scheme = scheme();
    return (scheme.contains("%") ? "" : scheme) + location();
  }

  /**
   * Names hosts, ports and database, for messages: {@code host:3306/db} for {@code
   * jdbc:x://user:secret@host:3306/db?password=…}. Shows only the parts of the URL that are
   * known to hold no secret. If they cannot be distinguished, no part of the URL is shown.
   */
  String location() {
    String scheme = scheme();
    String rest = this.text.substring(scheme.length());
    Matcher parameters = PARAMETERS.matcher(rest);
    String place = parameters.find() ? rest.substring(0, parameters.start()) : rest;
    if (place.indexOf('(') >= 0) {
      return keyedHosts(place);
    }
    String after = rest.substring(place.length());
    if (after.indexOf('@') >= 0
        && !(place.indexOf('/') >= 0 && WITH_AT.matcher(after).matches())) {
      return UNKNOWN; // the password may have begun before the parameters
    }
    place = place.substring(place.lastIndexOf('@') + 1).replaceFirst("=.*$", "");
    if (scheme.isEmpty()) {
      return place;
    }
    int slash = place.indexOf('/');
    String hosts = slash < 0 ? place : place.substring(0, slash);
    String database = slash < 0 ? "" : place.substring(slash).replaceFirst(":.*$", "");
    return HOSTS.matcher(hosts).matches() ? hosts + database : UNKNOWN;
  }

  /** {@code (host=a,port=1,password=…)} and {@code address=(host=a)(port=1)(password=…)}. */
  private static String keyedHosts(String place) {
    StringBuilder hosts = new StringBuilder();
    Matcher keyed = HOST_OR_PORT.matcher(place);
    while (keyed.find()) {
      boolean host = keyed.group(1).equalsIgnoreCase("host");
      hosts.append(host ? hosts.isEmpty() ? "" : "," : ":").append(keyed.group(2));
    }
    Matcher database = DATABASE_AFTER_KEYS.matcher(place);
    return hosts.isEmpty() ? UNKNOWN : hosts + (database.find() ? database.group(1) : "");
  }

  /** Where the URL leads, for comparisons: hosts, database and parameters, which may be secret. */
  public String target() {
    return this.text.replaceFirst("//[^/]*@", "//").replaceFirst("^jdbc:[^/]*//", "");
  }

  /** Host and port of a URL with one host, for messages. */
  String host() {
    return location().replaceFirst("/.*$", "");
  }

  /** A URL for each host; this one alone if it names one host, or which host accepts writes. */
  List<JdbcUrl> split() {
    return isForFirstHost() ? List.of(this) : splitAny();
  }

  /** Whether the driver writes only to the first of several hosts, by its default. */
  boolean writesToFirstAlone() {
    return isForFirstHost() && splitAny().size() > 1;
  }

  private boolean isForFirstHost() {
    return Product.onlyFirstHostWrites(this.text)
        && !ANY_HOST_WRITES.matcher(this.text).find();
  }

  private List<JdbcUrl> splitAny() {
    Matcher any = ANY_HOST.matcher(this.text);
    if (!any.matches() || any.group(2).toLowerCase(Locale.ROOT).contains("type=")) {
      return List.of(this);
    }
    return HOST.matcher(any.group(2))
        .results()
        .map((host) -> new JdbcUrl(any.group(1) + "//" + host.group().strip() + any.group(3)))
        .toList();
  }

  /** For the driver: without the kind of server to look for. Which one accepts writes is asked. */
  String ofAnyServer() {
    return this.text.replaceAll("(?<=[?&])targetServerType=[^&]*&?", "");
  }

  private String scheme() {
    Matcher scheme = SCHEME.matcher(this.text);
    return scheme.lookingAt() ? scheme.group() : "";
  }

  /** What the URL sets a property of the driver to; {@code null} if it does not. */
  @Nullable
  String parameter(String name) {
    Matcher value = Pattern.compile(".*[?&]" + name + "=([^&]*).*").matcher(this.text);
    return value.matches() ? URLDecoder.decode(value.group(1), StandardCharsets.UTF_8) : null;
  }

  /** Whether the value of a driver's property of this name is secret. */
  static boolean isSecret(String property) {
    return SECRET_NAME.matcher(property).find();
  }

  /** The words of the URL that may belong to a user or a password. */
  Set<String> secrets() {
    Set<String> secrets = new HashSet<>();
    String location = location();
    for (Pattern pattern : SECRETS) {
      Matcher secret = pattern.matcher(this.text);
      while (secret.find()) {
        String values = secret.group().replaceAll("\\w+\\s*=", " ");
        Stream.of(values.split("[^\\p{L}\\p{N}_]+"))
            .filter((word) -> word.length() > 1 && !location.contains(word))
            .forEach(secrets::add);
      }
    }
    return secrets;
  }

  /** Shows no secrets. */
  @Override
  public String toString() {
    return describe();
  }
}
