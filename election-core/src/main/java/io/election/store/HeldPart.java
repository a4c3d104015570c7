package io.election.store;

import io.election.store.StoreList.Part;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A part as the leader of a term finds it when that term ends.
 *
 * @param row the record; {@code null} if there is none
 */
record HeldPart(Part part, @Nullable LeaseRow row, String nodeId, long term) {

  /** Returns whether no other node has led in the part since. */
  boolean isOfTerm() {
    return this.row != null && this.row.term() == this.term;
  }

  boolean isReleased() {
    return isOfTerm() && this.row != null && this.row.isReleased();
  }

  boolean isHeld() {
    return isOfTerm()
        && !isReleased()
        && this.row != null
        && this.row.leaderId().equals(this.nodeId);
  }

  /** Returns whether an operator has written another node into the record. */
  boolean namesAnother() {
    return isOfTerm() && !isReleased() && !isHeld();
  }

  /** Returns the node that an operator has written into a part. A mark stays in its part. */
  static String named(List<HeldPart> parts) {
    return parts.stream()
        .filter(HeldPart::namesAnother)
        .flatMap((part) -> Optional.ofNullable(part.row()).stream())
        .filter((row) -> !row.isMoved())
        .map(LeaseRow::leaderId)
        .findFirst()
        .orElse("");
  }
}
