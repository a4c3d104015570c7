package io.election.support;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Restores objects as in a process that was restored from a checkpoint of another process. */
public final class Checkpoint {

  private Checkpoint() {}

  /**
   * Gives an object the state of one in the checkpoint that was created in the same way. Values are
   * copied; parts from its own package stay its own, and get the state of the other's parts.
   */
  public static void restore(Object original, Object restored) throws IllegalAccessException {
    restore(original, restored, Collections.newSetFromMap(new IdentityHashMap<>()));
  }

  private static void restore(Object original, Object restored, Set<Object> done)
      throws IllegalAccessException {
    if (!done.add(original)) {
      return;
    }
    for (Field field : original.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers())) {
        continue;
      }
      field.setAccessible(true);
      Object value = field.get(original);
      Object own = field.get(restored);
      if (value != null && own != null && isPart(value, original)) {
        restore(value, own, done);
      } else if (value == null
          || !value.getClass().isHidden()) { // a lambda refers to its own object
        field.set(restored, value);
      }
    }
  }

  private static boolean isPart(Object value, Object whole) {
    Class<?> type = value.getClass();
    return type.getPackage() == whole.getClass().getPackage()
        && !type.isRecord()
        && !type.isEnum()
        && !type.isHidden();
  }
}
