package io.election.jdbc;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Names and texts in statements, whatever the settings of the session. */
final class PostgresqlText {

  /** A text that needs no quoting. */
  private static final Pattern PLAIN =
      Pattern.compile("[\\w./:-]*", Pattern.UNICODE_CHARACTER_CLASS);

  private PostgresqlText() {}

  static String literal(String text) {
    return PLAIN.matcher(text).matches()
        ? "'" + text + "'"
        : "convert_from(decode('%s', 'hex'), 'UTF8')"
            .formatted(HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)));
  }

  static String quotedName(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  /** An expression that changes a setting until the transaction is over. */
  static String set(String setting, String value) {
    return "set_config('%s', %s, true)".formatted(setting, value);
  }
}
