package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.deser.std.StdDeserializer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.ToStringSerializer;

/** The text of what the agents write to etcd. */
final class Json {

  private static final JsonMapper MAPPER = JsonMapper.builder()
      .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
      .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
      .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
      .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
      .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
      .addModule(new SimpleModule()
          .addSerializer(GtidSet.class, ToStringSerializer.instance)
          .addDeserializer(GtidSet.class, new StdDeserializer<>(GtidSet.class) {
            @Override
            public GtidSet deserialize(JsonParser parser, DeserializationContext context) {
              return GtidSet.parse(parser.getString());
            }
          }))
      .build();

  private Json() {}

  static String print(Object value) {
    return MAPPER.writeValueAsString(value);
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException if it is not of that type, or lacks something
   */
  static <T> T parse(String text, Class<T> type) {
    try {
      T value = MAPPER.readValue(text, type);
      if (value != null) {
        return value;
      }
    } catch (JacksonException ex) {
      throw new IllegalArgumentException(ex.getOriginalMessage(), ex);
    }
    throw new IllegalArgumentException("it is null");
  }
}
