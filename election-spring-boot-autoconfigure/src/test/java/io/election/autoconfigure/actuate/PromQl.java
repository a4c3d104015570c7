package io.election.autoconfigure.actuate;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What an expression in Prometheus' language asks for: enough of the language to find the metrics and
 * labels of our dashboard and alert rules. Whether it is correct otherwise, {@code promtool} tells.
 *
 * @param selectors the metrics, with their matchers
 * @param grouped the labels by which series are grouped or joined
 */
record PromQl(List<Selector> selectors, Set<String> grouped) {

  /**
   * A metric, and what its labels have to be.
   *
   * @param metric its name
   * @param matchers the labels by name, with operator and value as written, for instance {@code ="a"}
   */
  record Selector(String metric, Map<String, String> matchers) {}

  private static final Pattern TOKEN = Pattern.compile(
      "(?<string>\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')|(?<range>\\[[^\\]]*\\])|(?<number>\\d[\\w.]*)|(?<name>[a-zA-Z_:][\\w:]*)|(?<operator>=~|!~|!=|==|<=|>=|[-+*/%^=<>])|(?<bracket>[(){},])|\\s+|(?<other>.)");

  private static final Set<String> KEYWORDS =
      Set.of("and", "or", "unless", "bool", "offset", "inf", "nan");

  private static final Set<String> GROUPINGS =
      Set.of("by", "without", "on", "ignoring", "group_left", "group_right");

  /** Their labels need not be there. */
  private static final Set<String> EXCLUDING = Set.of("without", "ignoring");

  static PromQl parse(String expression) {
    List<Selector> selectors = new ArrayList<>();
    Set<String> grouped = new HashSet<>();
    Deque<String> tokens = tokens(expression);
    while (!tokens.isEmpty()) {
      String token = tokens.pop();
      String next = tokens.isEmpty() ? "" : tokens.peek();
      if (GROUPINGS.contains(token)) {
        if (next.equals("(")) {
          for (tokens.pop(); !")".equals(tokens.peek()); ) {
            String label = tokens.pop();
            if (!label.equals(",") && !EXCLUDING.contains(token)) {
              grouped.add(label);
            }
          }
          tokens.pop();
        }
      } else if (Character.isLetter(token.charAt(0)) || token.charAt(0) == '_') {
        boolean function = next.equals("(") || GROUPINGS.contains(next) && isAggregation(token);
        if (!KEYWORDS.contains(token) && !function) {
          selectors.add(new Selector(token, next.equals("{") ? matchers(tokens) : Map.of()));
        }
      } else if (token.equals("{")) {
        throw new IllegalArgumentException("A selector without a metric: " + expression);
      }
    }
    return new PromQl(selectors, grouped);
  }

  /** {@code sum by (…) (…)}: the only names before a grouping that are no metrics. */
  private static boolean isAggregation(String name) {
    return Set.of("sum", "min", "max", "avg", "count", "group").contains(name);
  }

  private static Map<String, String> matchers(Deque<String> tokens) {
    Map<String, String> matchers = new LinkedHashMap<>();
    for (tokens.pop(); !"}".equals(tokens.peek()); ) {
      String label = tokens.pop();
      if (!label.equals(",")) {
        matchers.put(label, tokens.pop() + tokens.pop());
      }
    }
    tokens.pop();
    return matchers;
  }

  private static Deque<String> tokens(String expression) {
    Deque<String> tokens = new ArrayDeque<>();
    Matcher matcher = TOKEN.matcher(expression);
    while (matcher.find()) {
      if (matcher.group("other") != null) {
        throw new IllegalArgumentException(
            "What is '%s' in %s?".formatted(matcher.group(), expression));
      }
      if (!matcher.group().isBlank() && matcher.group("range") == null) {
        tokens.add(matcher.group());
      }
    }
    return tokens;
  }

  /**
   * Tells what the expression asks for that is not there.
   *
   * @param scraped what an application exposes: for each metric the labels of each of its series
   * @return one line for each metric, label and value that no series has
   */
  List<String> missing(Map<String, List<Map<String, String>>> scraped) {
    List<String> missing = new ArrayList<>();
    for (Selector selector : this.selectors) {
      List<Map<String, String>> series = scraped.getOrDefault(selector.metric(), List.of());
      if (series.isEmpty()) {
        missing.add(selector.metric());
        continue;
      }
      Set<String> labels = new HashSet<>(this.grouped);
      labels.addAll(selector.matchers().keySet());
      for (String label : labels) {
        if (series.stream().noneMatch(one -> one.containsKey(label))) {
          missing.add("label " + label + " of " + selector.metric());
        }
      }
      selector.matchers().forEach((label, matcher) -> {
        if (matcher.matches("=\"[^$]*")
            && series.stream().noneMatch(one -> matcher.equals("=\"" + one.get(label) + "\""))) {
          missing.add("value " + label + matcher + " of " + selector.metric());
        }
      });
    }
    return missing;
  }
}
