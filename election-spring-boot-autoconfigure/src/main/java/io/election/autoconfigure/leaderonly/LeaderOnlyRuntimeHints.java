package io.election.autoconfigure.leaderonly;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** Keeps what is looked up by name in a native image: consumer types, and listener registries. */
final class LeaderOnlyRuntimeHints implements RuntimeHintsRegistrar {

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    LeaderOnlyTriggers.CONSUMER_TYPES.forEach(
        (name) -> hints.reflection().registerTypeIfPresent(classLoader, name));
    LeaderBoundFinder.REGISTRIES.forEach((name) -> hints
        .reflection()
        .registerTypeIfPresent(classLoader, name, MemberCategory.INVOKE_PUBLIC_METHODS));
  }
}
