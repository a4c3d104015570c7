package io.election.mysql.failover;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A GTID set, in MySQL's notation: {@code uuid[:tag]:first[-last]…, …}. Sets are partially ordered
 * by {@link #contains}: each of two sets may have transactions that the other lacks.
 *
 * <p>Tags exist since MySQL 8.3. Immutable.
 *
 * @see <a href="https://dev.mysql.com/doc/refman/9.7/en/replication-gtids-concepts.html">GTID
 *     Format and Storage</a>
 */
public final class GtidSet {

  /** The empty set. */
  public static final GtidSet EMPTY = new GtidSet(new TreeMap<>());

  private static final Pattern UUID =
      Pattern.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");

  private static final int UUID_LENGTH = 36;

  private static final Pattern TAG = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,31}");

  private static final Pattern NUMBERS =
      Pattern.compile("([0-9]{1,19})(?:\\s*-\\s*([0-9]{1,19}))?");

  /** Consecutive transactions, both ends included. */
  private record Interval(long first, long last) {

    @Override
    public String toString() {
      return this.first == this.last ? Long.toString(this.first) : this.first + "-" + this.last;
    }
  }

  /**
   * The intervals of each origin, a UUID or {@code uuid:tag}, in ascending order, with gaps between
   * them. No list is empty.
   */
  private final Map<String, List<Interval>> intervals;

  private GtidSet(Map<String, List<Interval>> intervals) {
    this.intervals = intervals;
  }

  /**
   * Parses a set as MySQL prints it or accepts it. Case and white space around numbers, tags and
   * UUIDs are ignored. Unlike MySQL, this method rejects {@code 5-3} and a UUID or tag without
   * numbers, which are mistakes rather than empty sets. It also rejects UUIDs without hyphens or in
   * braces.
   *
   * @param text the set; blank for the empty set
   * @return the set
   * @throws IllegalArgumentException if the text is not a GTID set
   */
  public static GtidSet parse(String text) {
    TreeMap<String, List<Interval>> found = new TreeMap<>();
    for (String part : text.split(",", -1)) {
      if (!part.isBlank()) {
        parse(part.strip(), found);
      }
    }
    found.replaceAll((origin, intervals) -> merged(intervals));
    return new GtidSet(found);
  }

  private static void parse(String part, Map<String, List<Interval>> found) {
    String[] fields = part.split("\\s*:\\s*", -1);
    String uuid = fields[0].toLowerCase(Locale.ROOT);
    String origin = uuid;
    boolean numbers = false;
    for (int i = 1; i < fields.length; i++) {
      if (TAG.matcher(fields[i]).matches()) {
        require(i == 1 || numbers, part);
        origin = uuid + ":" + fields[i].toLowerCase(Locale.ROOT);
        numbers = false;
      } else {
        found.computeIfAbsent(origin, (any) -> new ArrayList<>()).add(interval(fields[i], part));
        numbers = true;
      }
    }
    require(UUID.matcher(fields[0]).matches() && numbers, part);
  }

  private static Interval interval(String field, String part) {
    Matcher matcher = NUMBERS.matcher(field);
    require(matcher.matches(), part);
    String end = matcher.group(2);
    long first = Long.parseUnsignedLong(matcher.group(1));
    long last = end != null ? Long.parseUnsignedLong(end) : first;
    require(first > 0 && last >= first && last < Long.MAX_VALUE, part);
    return new Interval(first, last);
  }

  private static void require(boolean valid, String part) {
    if (!valid) {
      throw new IllegalArgumentException("'" + part + "' is not a GTID set");
    }
  }

  private static List<Interval> merged(List<Interval> intervals) {
    List<Interval> sorted = new ArrayList<>(intervals);
    sorted.sort(Comparator.comparingLong(Interval::first));
    List<Interval> merged = new ArrayList<>();
    for (Interval next : sorted) {
      int end = merged.size() - 1;
      if (end >= 0 && next.first() <= merged.get(end).last() + 1) {
        Interval last = merged.get(end);
        merged.set(end, new Interval(last.first(), Math.max(last.last(), next.last())));
      } else {
        merged.add(next);
      }
    }
    return List.copyOf(merged);
  }

  /** Returns whether this set contains all transactions of another set. */
  public boolean contains(GtidSet other) {
    return other.subtract(this).isEmpty();
  }

  /** Returns the transactions that are in either set. */
  public GtidSet union(GtidSet other) {
    TreeMap<String, List<Interval>> all = new TreeMap<>(this.intervals);
    other.intervals.forEach((origin, added) -> all.merge(origin, added, (mine, others) -> {
      List<Interval> both = new ArrayList<>(mine);
      both.addAll(others);
      return merged(both);
    }));
    return new GtidSet(all);
  }

  /** Returns the transactions that are in this set and not in another one. */
  public GtidSet subtract(GtidSet other) {
    TreeMap<String, List<Interval>> rest = new TreeMap<>();
    this.intervals.forEach((origin, mine) -> {
      List<Interval> left = subtract(mine, other.intervals.get(origin));
      if (!left.isEmpty()) {
        rest.put(origin, left);
      }
    });
    return new GtidSet(rest);
  }

  /** Walks both lists once, since servers with gaps have thousands of intervals. */
  private static List<Interval> subtract(List<Interval> from, @Nullable List<Interval> cuts) {
    if (cuts == null) {
      return from;
    }
    List<Interval> left = new ArrayList<>();
    int next = 0;
    for (Interval each : from) {
      while (next < cuts.size() && cuts.get(next).last() < each.first()) {
        next++;
      }
      long first = each.first();
      for (int i = next; i < cuts.size() && cuts.get(i).first() <= each.last(); i++) {
        if (first < cuts.get(i).first()) {
          left.add(new Interval(first, cuts.get(i).first() - 1));
        }
        first = cuts.get(i).last() + 1;
      }
      if (first <= each.last()) {
        left.add(new Interval(first, each.last()));
      }
    }
    return left;
  }

  /** Returns the transactions that are in both sets. */
  public GtidSet intersect(GtidSet other) {
    return subtract(subtract(other));
  }

  /** Returns one of the transactions; empty if there is none. */
  public GtidSet any() {
    TreeMap<String, List<Interval>> found = new TreeMap<>();
    this.intervals.entrySet().stream().limit(1).forEach((each) -> {
      long first = each.getValue().get(0).first();
      found.put(each.getKey(), List.of(new Interval(first, first)));
    });
    return new GtidSet(found);
  }

  /**
   * Returns the transactions of an origin, including all its tags.
   *
   * @param uuid the UUID of the origin
   */
  public GtidSet ofOrigin(String uuid) {
    TreeMap<String, List<Interval>> found = new TreeMap<>(this.intervals);
    found.keySet().removeIf((each) -> !uuid(each).equals(uuid.toLowerCase(Locale.ROOT)));
    return new GtidSet(found);
  }

  private static String uuid(String origin) {
    return origin.substring(0, UUID_LENGTH);
  }

  /** Returns whether the set is empty. */
  public boolean isEmpty() {
    return this.intervals.isEmpty();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GtidSet set && set.intervals.equals(this.intervals);
  }

  @Override
  public int hashCode() {
    return Objects.hash(this.intervals);
  }

  /** Returns the set as MySQL prints it, on one line and without spaces. */
  @Override
  public String toString() {
    Map<String, String> texts = new TreeMap<>();
    this.intervals.forEach((origin, intervals) -> texts.merge(
        uuid(origin),
        intervals.stream().map((each) -> ":" + each).collect(Collectors.joining("", origin, "")),
        (before, tagged) -> before + tagged.substring(UUID_LENGTH)));
    return String.join(",", texts.values());
  }
}
