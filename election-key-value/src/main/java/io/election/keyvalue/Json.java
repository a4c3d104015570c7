package io.election.keyvalue;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** The values of keys as JSON. */
final class Json {

  private static final JsonMapper MAPPER = JsonMapper.builder()
      .changeDefaultPropertyInclusion(
          (value) -> value.withValueInclusion(JsonInclude.Include.NON_NULL))
      .build();

  private Json() {}

  static String write(Object value) {
    return MAPPER.writeValueAsString(value);
  }

  /** Returns {@code null} if the text is not such JSON. Unknown properties are ignored. */
  static <T> @Nullable T read(String text, Class<T> type) {
    if (!text.stripLeading().startsWith("{")) {
      return null;
    }
    try {
      return MAPPER.readValue(text, type);
    } catch (JacksonException ex) {
      return null;
    }
  }
}
