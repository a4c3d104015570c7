package io.election.support.process;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An event that a process published: a term began or ended. */
public record Announcement(String node, boolean acquired, long term) {

  private static final Pattern LINE = Pattern.compile(
      "published Leadership(Acquired|Lost)Event\\[serviceId=([^,]*),.* term=(\\d+),");

  /** Parses a line of a process's log, which may report an event in an election. */
  public static Optional<Announcement> parse(String node, String serviceId, String line) {
    Matcher matcher = LINE.matcher(line);
    return matcher.find() && matcher.group(2).equals(serviceId)
        ? Optional.of(new Announcement(
            node, matcher.group(1).equals("Acquired"), Long.parseLong(matcher.group(3))))
        : Optional.empty();
  }
}
