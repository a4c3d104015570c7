package io.election.autoconfigure.commitfence;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/**
 * Hints for the classes whose presence is checked. In a native image a class without a hint counts
 * as missing, and so does everything that depends on it.
 */
final class CommitFenceRuntimeHints implements RuntimeHintsRegistrar {

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    List.of(
            "jakarta.persistence.EntityManagerFactory",
            "org.hibernate.SessionFactory",
            "org.springframework.orm.jpa.JpaTransactionManager",
            "org.springframework.orm.jpa.hibernate.HibernateTransactionManager")
        .forEach((name) -> hints.reflection().registerTypeIfPresent(classLoader, name));
  }
}
