package io.election.faults;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An event that a process published.
 *
 * @param node the process
 * @param acquired whether leadership was acquired, else lost
 * @param term the term that began or ended
 */
record Announcement(String node, boolean acquired, long term) {

  private static final Pattern LINE =
      Pattern.compile("published Leadership(Acquired|Lost)Event\\[serviceId=%s,.* term=(\\d+),"
          .formatted(Cluster.SERVICE));

  /** Reads a line of a node's log. */
  static Optional<Announcement> parse(String node, String line) {
    Matcher matcher = LINE.matcher(line);
    return matcher.find()
        ? Optional.of(new Announcement(
            node, matcher.group(1).equals("Acquired"), Long.parseLong(matcher.group(2))))
        : Optional.empty();
  }
}
