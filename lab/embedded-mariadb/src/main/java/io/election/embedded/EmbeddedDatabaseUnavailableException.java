package io.election.embedded;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the embedded database does not run on this machine. The message states the cause;
 * {@link EmbeddedDatabaseFailureAnalyzer} adds the remedy.
 */
public final class EmbeddedDatabaseUnavailableException extends RuntimeException {

  EmbeddedDatabaseUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
