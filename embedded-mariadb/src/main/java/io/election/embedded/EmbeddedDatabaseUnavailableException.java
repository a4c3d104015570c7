package io.election.embedded;

import org.jspecify.annotations.Nullable;

/**
 * The embedded database does not run on this machine. The message says why; {@link
 * EmbeddedDatabaseFailureAnalyzer} adds what to do instead.
 */
public final class EmbeddedDatabaseUnavailableException extends RuntimeException {

  EmbeddedDatabaseUnavailableException(String message) {
    super(message);
  }

  EmbeddedDatabaseUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
