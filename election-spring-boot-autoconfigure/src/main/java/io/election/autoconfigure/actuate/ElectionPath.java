package io.election.autoconfigure.actuate;

import io.election.Names;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The election that the path of a request names, and whether it names an action on it:
 * {@code /{serviceId}} or {@code /{serviceId}/{action}}.
 *
 * @param serviceId the name of the election
 * @param action whether the path names the action
 */
record ElectionPath(String serviceId, boolean action) {

  /** The segment that refers to the query. */
  private static final String IN_QUERY = "-";

  /** Names that a path cannot contain, since servers and firewalls refuse or change such paths. */
  private static final Pattern UNUSABLE_IN_PATHS = Pattern.compile(".*[/\\\\;%].*|\\.{1,2}");

  /**
   * Reads what follows the endpoint's own path.
   *
   * @param path the remaining segments as Spring Boot passes them: an array. A value from the query
   *     or the body that overrides them is never an array, whatever the web framework
   * @param inQuery the name of the election in the query or the body; {@code null} if missing
   * @param action the only action of the operation
   * @return the election and the action
   * @throws IllegalArgumentException if the path is overridden, or names neither an election nor its
   *     action; or if the query names an election that the path can name
   */
  static ElectionPath of(Object path, @Nullable String inQuery, String action) {
    if (!(path instanceof String[] segments)) {
      throw new IllegalArgumentException(
          "the path names the election and the action: remove 'path' from the query and the body");
    }
    if (segments.length == 0) {
      throw new IllegalArgumentException("the path names no election: /{serviceId}");
    }
    if (segments.length > 2 || (segments.length == 2 && !segments[1].equals(action))) {
      throw new IllegalArgumentException(
          "after the name of the election the path may only have /%s, not '%s'. A name that contains '/' is written in the query: /-?serviceId=orders/eu"
              .formatted(action, Names.printable(segments[1])));
    }
    return new ElectionPath(named(segments[0], inQuery), segments.length == 2);
  }

  private static String named(String segment, @Nullable String inQuery) {
    if (inQuery == null) {
      return segment;
    }
    if (!segment.equals(IN_QUERY) || !UNUSABLE_IN_PATHS.matcher(inQuery).matches()) {
      throw new IllegalArgumentException(
          "the path names the election: remove 'serviceId' from the query and the body. Only a name that a path cannot contain is written there: /-?serviceId=orders/eu");
    }
    return inQuery;
  }
}
