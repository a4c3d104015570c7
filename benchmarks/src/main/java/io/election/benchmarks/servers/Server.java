package io.election.benchmarks.servers;

import java.util.Map;

/** A server that runs, and can be frozen. */
public interface Server extends AutoCloseable {

  /** What it is. */
  String version();

  /** Makes a place: an empty database, where there are databases. */
  Place newPlace();

  /**
   * What the server has counted since its start, for instance {@code Questions}, and its processor
   * time as {@code cpu_seconds} where it can be known.
   *
   * @return the counters by name; none where there are none
   */
  Map<String, Double> counters();

  /** Freezes the server: it accepts connections and never answers. */
  void pause();

  /** Lets it go on. */
  void resume();

  @Override
  void close();

  /** Where the nodes of one candidate meet. */
  interface Place {

    /** The port of the server on 127.0.0.1. */
    int port();

    /**
     * The address for clients.
     *
     * @param port of the server, or of a proxy to it
     * @return a JDBC URL, or host and port
     */
    String address(int port);

    /** The user. */
    String username();

    /** The user's password. */
    String password();
  }
}
