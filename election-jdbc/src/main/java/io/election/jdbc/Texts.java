package io.election.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The texts of a column in the last answer to a session, by the number of their row. Those that are
 * the same in the next answer are not decoded again.
 */
final class Texts {

  private final List<byte[]> sent = new ArrayList<>();
  private final List<String> texts = new ArrayList<>();

  /**
   * Reads a column of the current row, with an empty string instead of null.
   *
   * @param number the number of the row, from 0 on; at most one greater than all before
   */
  String read(ResultSet row, int column, int number) throws SQLException {
    byte[] bytes = row.getBytes(column);
    if (number < this.sent.size() && Arrays.equals(bytes, this.sent.get(number))) {
      return this.texts.get(number);
    }
    String text = Columns.string(row, column);
    if (bytes == null) {
      return text;
    }
    if (number < this.sent.size()) {
      this.sent.set(number, bytes);
      this.texts.set(number, text);
    } else {
      this.sent.add(bytes);
      this.texts.add(text);
    }
    return text;
  }
}
