package io.election.benchmarks.servers;

/** Thrown when this machine does not have a server. */
public final class NotInstalledException extends Exception {

  NotInstalledException(String message, Throwable cause) {
    super(message, cause);
  }
}
