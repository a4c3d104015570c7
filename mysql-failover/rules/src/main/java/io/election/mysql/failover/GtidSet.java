package io.election.mysql.failover;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
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
  public static final GtidSet EMPTY = new GtidSet(Map.of());

  private static final Pattern UUID =
      Pattern.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");

  private static final int UUID_LENGTH = 36;

  private static final Pattern TAG = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,31}");

  private static final Pattern NUMBERS =
      Pattern.compile("([0-9]{1,19})(?:\\s*-\\s*([0-9]{1,19}))?");

  /**
   * The consecutive transactions of each origin, a UUID or {@code uuid:tag}: the first of them, and
   * the one after the last. There are gaps between them, and no origin has none.
   */
  private final SortedMap<String, SortedMap<Long, Long>> ranges = new TreeMap<>();

  /**
   * @param edges by how much the depth changes at a number of an origin. The set has the numbers
   *     whose depth is above 0
   */
  private GtidSet(Map<String, SortedMap<Long, Integer>> edges) {
    edges.forEach((origin, changes) -> {
      SortedMap<Long, Long> found = new TreeMap<>();
      int depth = 0;
      long first = 0;
      for (Map.Entry<Long, Integer> change : changes.entrySet()) {
        int before = depth;
        depth += change.getValue();
        if (before <= 0 && depth > 0) {
          first = change.getKey();
        } else if (before > 0 && depth <= 0) {
          found.put(first, change.getKey());
        }
      }
      if (!found.isEmpty()) {
        this.ranges.put(origin, found);
      }
    });
  }

  private static void add(
      Map<String, SortedMap<Long, Integer>> edges, String origin, long first, long end, int depth) {
    SortedMap<Long, Integer> changes = edges.computeIfAbsent(origin, (any) -> new TreeMap<>());
    changes.merge(first, depth, Integer::sum);
    changes.merge(end, -depth, Integer::sum);
  }

  private GtidSet with(GtidSet other, int depth) {
    Map<String, SortedMap<Long, Integer>> edges = new HashMap<>();
    this.ranges.forEach(
        (origin, mine) -> mine.forEach((first, end) -> add(edges, origin, first, end, 1)));
    other.ranges.forEach(
        (origin, others) -> others.forEach((first, end) -> add(edges, origin, first, end, depth)));
    return new GtidSet(edges);
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
    Map<String, SortedMap<Long, Integer>> edges = new HashMap<>();
    for (String part : text.split(",", -1)) {
      if (!part.isBlank()) {
        parse(part.strip(), edges);
      }
    }
    return new GtidSet(edges);
  }

  private static void parse(String part, Map<String, SortedMap<Long, Integer>> edges) {
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
        Matcher matcher = NUMBERS.matcher(fields[i]);
        require(matcher.matches(), part);
        String end = matcher.group(2);
        long first = Long.parseUnsignedLong(matcher.group(1));
        long last = end != null ? Long.parseUnsignedLong(end) : first;
        require(first > 0 && last >= first && last < Long.MAX_VALUE, part);
        add(edges, origin, first, last + 1, 1);
        numbers = true;
      }
    }
    require(UUID.matcher(fields[0]).matches() && numbers, part);
  }

  private static void require(boolean valid, String part) {
    if (!valid) {
      throw new IllegalArgumentException("'" + part + "' is not a GTID set");
    }
  }

  /** Returns whether this set contains all transactions of another set. */
  public boolean contains(GtidSet other) {
    return other.subtract(this).isEmpty();
  }

  /** Returns the transactions that are in either set. */
  public GtidSet union(GtidSet other) {
    return with(other, 1);
  }

  /** Returns the transactions that are in this set and not in another one. */
  public GtidSet subtract(GtidSet other) {
    return with(other, -1);
  }

  /** Returns the transactions that are in both sets. */
  public GtidSet intersect(GtidSet other) {
    return subtract(subtract(other));
  }

  /** Returns one of the transactions; empty if there is none. */
  public GtidSet any() {
    Map<String, SortedMap<Long, Integer>> edges = new HashMap<>();
    this.ranges.entrySet().stream().limit(1).forEach((each) -> {
      long first = each.getValue().firstKey();
      add(edges, each.getKey(), first, first + 1, 1);
    });
    return new GtidSet(edges);
  }

  /**
   * Returns the transactions of an origin, including all its tags.
   *
   * @param uuid the UUID of the origin
   */
  public GtidSet ofOrigin(String uuid) {
    GtidSet found = union(EMPTY);
    found.ranges.keySet().removeIf((each) -> !uuid(each).equals(uuid.toLowerCase(Locale.ROOT)));
    return found;
  }

  private static String uuid(String origin) {
    return origin.substring(0, UUID_LENGTH);
  }

  /** Returns whether the set is empty. */
  public boolean isEmpty() {
    return this.ranges.isEmpty();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GtidSet set && set.ranges.equals(this.ranges);
  }

  @Override
  public int hashCode() {
    return Objects.hash(this.ranges);
  }

  /** Returns the set as MySQL prints it, on one line and without spaces. */
  @Override
  public String toString() {
    Map<String, String> texts = new TreeMap<>();
    this.ranges.forEach((origin, ranges) -> texts.merge(
        uuid(origin),
        ranges.entrySet().stream()
            .map((each) -> print(each.getKey(), each.getValue() - 1))
            .collect(Collectors.joining("", origin, "")),
        (before, tagged) -> before + tagged.substring(UUID_LENGTH)));
    return String.join(",", texts.values());
  }

  private static String print(long first, long last) {
    return first == last ? ":" + first : ":" + first + "-" + last;
  }
}
