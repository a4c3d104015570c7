package io.election.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides what the records of an election in the parts of a {@link JointLeaseStore} mean together.
 * Pure functions of the records.
 */
class JointRule {

  /**
   * What is compared to detect that a part was written.
   *
   * @param rows the records in the order of the names of the parts; one is {@code null} only if
   *     another is marked as moved
   */
  private record Version(List<@Nullable LeaseRow> rows) {}

  /** What a part lets a node do; of several parts, the first of these counts. */
  private enum Availability {
    MOVED,
    HELD_BY_ANOTHER,
    HELD_BY_THIS,
    LEFT_TO_ANOTHER,
    LEFT_TO_THIS,
    LEFT_TO_ANY;

    static Availability of(LeaseRow row, String nodeId) {
      if (row.isMoved()) {
        return MOVED;
      }
      boolean mine = row.leaderId().equals(nodeId);
      if (!row.isReleased()) {
        return mine ? HELD_BY_THIS : HELD_BY_ANOTHER;
      }
      if (row.leaderId().isEmpty()) {
        return LEFT_TO_ANY;
      }
      return mine ? LEFT_TO_THIS : LEFT_TO_ANOTHER;
    }
  }

  /** Returns the records of the parts of which a record consists, in the order of their names. */
  static List<@Nullable LeaseRow> parts(LeaseRow joint) {
    return ((Version) joint.version()).rows();
  }

  /**
   * Joins the records of the parts into one, as a node reads it.
   *
   * @param rows the records in the order of the names of the parts; {@code null} where there is none
   * @param promised the lease that counts for a part that states none; {@code null} if unknown
   * @return {@code null} if a part has no record, unless another one is marked as moved
   */
  @Nullable
  LeaseRow join(List<@Nullable LeaseRow> rows, String nodeId, @Nullable Long promised) {
    List<LeaseRow> found = rows.stream().filter(Objects::nonNull).toList();
    LeaseRow shown = found.stream()
        .min(Comparator.comparing((LeaseRow row) -> Availability.of(row, nodeId)))
        .orElse(null);
    if (shown == null || (found.size() < rows.size() && !shown.isMoved())) {
      return null;
    }
    List<@Nullable LeaseRow> compared = new ArrayList<>();
    rows.forEach((row) -> compared.add(row != null ? row.own(false) : null));
    return new LeaseRow(
        shown.leaderId(),
        highestTerm(found),
        lease(found, promised),
        new Version(Collections.unmodifiableList(compared)),
        isOwn(found));
  }

  static long highestTerm(Collection<LeaseRow> rows) {
    return rows.stream().mapToLong(LeaseRow::term).max().orElse(0);
  }

  /** Returns the lease after which no part can have a leader; 0 if all parts were handed back. */
  @Nullable
  Long lease(List<LeaseRow> rows, @Nullable Long promised) {
    long longest = 0;
    boolean known = true;
    for (LeaseRow row : rows) {
      Long lease = row.leaseMillis();
      known &= lease != null;
      longest = Math.max(longest, lease != null ? lease : 0);
    }
    if (known) {
      return longest;
    }
    longest = Math.max(longest, promised != null ? promised : 0);
    return longest > 0 ? Long.valueOf(longest) : null;
  }

  /** Returns whether this process has led last in all parts. */
  boolean isOwn(List<LeaseRow> rows) {
    return rows.stream().allMatch(LeaseRow::own)
        && rows.stream().mapToLong(LeaseRow::term).distinct().count() == 1;
  }

  /** Returns whether a node leads that was granted these terms: they are one. */
  boolean mayLead(Collection<Long> terms) {
    return Set.copyOf(terms).size() == 1;
  }
}
