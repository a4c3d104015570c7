package io.election.autoconfigure.leaderonly;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** Consumers of messages that a native image has to keep, because the check looks them up by name. */
final class LeaderOnlyRuntimeHints implements RuntimeHintsRegistrar {

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    LeaderOnlyTriggers.CONSUMER_TYPES.forEach(
        (name) -> hints.reflection().registerTypeIfPresent(classLoader, name));
  }
}
