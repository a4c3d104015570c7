package io.election.autoconfigure.leaderonly;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** Keeps message consumer types in a native image, because the check looks them up by name. */
final class LeaderOnlyRuntimeHints implements RuntimeHintsRegistrar {

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    LeaderOnlyTriggers.CONSUMER_TYPES.forEach(
        (name) -> hints.reflection().registerTypeIfPresent(classLoader, name));
  }
}
