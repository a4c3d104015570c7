package io.election.mysql.failover.agent;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** The text of what the agents write to etcd: names and values, in the format of properties. */
final class Notes {

  private Notes() {}

  static String print(Map<String, ?> values) {
    Properties text = new Properties();
    values.forEach((name, value) -> text.setProperty(name, String.valueOf(value)));
    StringWriter out = new StringWriter();
    try {
      text.store(out, null);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    return out.toString();
  }

  /**
   * Parses a text.
   *
   * @return returns the value of a name; throws IllegalArgumentException if there is none
   */
  static UnaryOperator<String> parse(String text) {
    Properties found = new Properties();
    try {
      found.load(new StringReader(text));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    return (name) -> {
      String value = found.getProperty(name);
      if (value == null) {
        throw new IllegalArgumentException("it lacks '" + name + "'");
      }
      return value;
    };
  }

  /** Returns a map as {@code a=1,b=2}. */
  static String join(Map<String, String> values) {
    return new TreeMap<>(values)
        .entrySet().stream().map(Object::toString).collect(Collectors.joining(","));
  }

  static Map<String, String> split(String text) {
    Map<String, String> values = new TreeMap<>();
    for (String each : text.split(",", -1)) {
      String[] parts = each.split("=", -1);
      if (parts.length != 2) {
        throw new IllegalArgumentException("'%s' is not name=server_uuid".formatted(each));
      }
      values.put(parts[0].strip(), parts[1].strip());
    }
    return values;
  }
}
