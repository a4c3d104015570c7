package io.election.keyvalue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Copies what a process knows, which is in its store's life, as its memory is copied. */
final class Copies {

  private Copies() {}

  static void copy(KeyValueLeaseStore original, KeyValueLeaseStore copy)
      throws ReflectiveOperationException {
    Field life = KeyValueLeaseStore.class.getDeclaredField("life");
    life.setAccessible(true);
    for (Field known : HeldLeases.class.getDeclaredFields()) {
      if (Modifier.isStatic(known.getModifiers())) {
        continue;
      }
      known.setAccessible(true);
      Object value = known.get(life.get(original));
      if (value instanceof Map<?, ?> map) {
        value = new HashMap<>(map);
      } else if (value instanceof Set<?> set) {
        value = new TreeSet<>(set);
      }
      known.set(life.get(copy), value);
    }
  }
}
