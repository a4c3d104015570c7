package io.election.keyvalue;

import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

/**
 * The value of a heartbeat: when it was written, by its node's clock, and the keys of the records
 * that name this heartbeat although it does not renew them.
 */
record Heartbeat(long at, List<String> except) {

  static Heartbeat of(String value) {
    List<String> words = List.of(value.split(" "));
    try {
      return new Heartbeat(Long.parseLong(words.get(0)), words.subList(1, words.size()));
    } catch (NumberFormatException ex) {
      return new Heartbeat(0, List.of());
    }
  }

  static String value(long at, Collection<String> except) {
    return String.join(
        " ", Stream.concat(Stream.of(Long.toString(at)), except.stream()).toList());
  }
}
