package io.election.keyvalue;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The values of keys, parsed. One that is as it was is not parsed again: a record stays the same as
 * long as its leader, and all elections share the identity and most of them a heartbeat.
 */
final class Values {

  private record Value(String text, Object parsed) {}

  private final Map<String, Value> values = new HashMap<>();

  <T> T of(Class<T> type, String key, String text, Function<String, T> parse) {
    Value value = this.values.get(key);
    if (value == null || !value.text().equals(text)) {
      value = new Value(text, parse.apply(text));
      this.values.put(key, value);
    }
    return type.cast(value.parsed());
  }

  /** Forgets the values of all other keys. */
  void retain(Set<String> keys) {
    this.values.keySet().retainAll(keys);
  }
}
