package io.election.benchmarks.servers;

/** There is no such server on this machine. */
public final class NotInstalledException extends Exception {

  NotInstalledException(String message, Throwable cause) {
    super(message, cause);
  }
}
