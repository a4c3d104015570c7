package io.election.etcd;

import com.google.protobuf.ByteString;
import java.util.List;
import java.util.stream.Stream;

/** Ranges of keys. */
final class EtcdKeys {

  /** All records: what is directly below the prefix and does not begin with {@code ~}. */
  static final List<Range> RECORDS =
      List.of(new Range("", "~"), new Range("\u007f", "\uDBFF\uDFFF"));

  /** The keys that a watch covers: all records, and the entries of members that join and leave. */
  static final List<Range> WATCHED =
      Stream.concat(RECORDS.stream(), Stream.of(Range.below("~members"))).toList();

  private EtcdKeys() {}

  /** Returns whether a key, without the prefix, is the record of an election. */
  static boolean isRecord(String key) {
    return key.indexOf('/') < 0 && !key.startsWith("~");
  }

  /** A range, relative to the prefix, without its end. */
  record Range(String from, String to) {

    static Range below(String parent) {
      return new Range(parent + "/", parent + "0");
    }

    ByteString from(String prefix) {
      return ByteString.copyFromUtf8(prefix + this.from);
    }

    ByteString to(String prefix) {
      return ByteString.copyFromUtf8(prefix + this.to);
    }
  }
}
