package io.election.autoconfigure.settings;

/**
 * Knows the algorithm of an application that names none. Used within the auto-configuration.
 */
public interface DefaultAlgorithm {

  /** Returns its name, as the endpoint shows it. */
  String name();
}
