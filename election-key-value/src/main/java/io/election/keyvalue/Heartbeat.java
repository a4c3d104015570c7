package io.election.keyvalue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The value of a heartbeat. Each request that writes one writes another value.
 *
 * @param at when it was written, by its node's clock
 * @param request a random text, by which its process knows which of its requests wrote it
 * @param except the keys of the records that name this heartbeat although it does not renew them;
 *     each with a number that no other pause of its renewals has
 */
record Heartbeat(long at, String request, Map<String, Long> except) {

  static Heartbeat of(String value) {
    List<String> words = List.of(value.split(" "));
    try {
      Map<String, Long> except = new HashMap<>();
      for (String word : words.subList(Math.min(2, words.size()), words.size())) {
        int number = word.lastIndexOf('@');
        except.put(word.substring(0, number), Long.parseLong(word.substring(number + 1)));
      }
      return new Heartbeat(
          Long.parseLong(words.get(0)), words.size() > 1 ? words.get(1) : "", except);
    } catch (NumberFormatException | StringIndexOutOfBoundsException ex) {
      return new Heartbeat(0, "", Map.of());
    }
  }

  String value() {
    StringBuilder value = new StringBuilder().append(this.at).append(' ').append(this.request);
    this.except.forEach(
        (key, number) -> value.append(' ').append(key).append('@').append(number));
    return value.toString();
  }
}
