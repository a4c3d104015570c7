package io.election.benchmarks.servers;

import java.util.Map;

/** A running server that can be frozen. */
public interface Server extends AutoCloseable {

  /** Returns the product and version. */
  String version();

  /** Creates a place: an empty database, if the server has databases. */
  Place newPlace();

  /**
   * Returns what the server has counted since its start, for example {@code Questions}, and its
   * processor time as {@code cpu_seconds} if it is known.
   *
   * @return the counters by name; empty if there are none
   */
  Map<String, Double> counters();

  /** Freezes the server: it accepts connections but never answers. */
  void pause();

  /** Lets a frozen server continue. */
  void resume();

  @Override
  void close();

  /** The place where the nodes of one candidate meet. */
  interface Place {

    /** Returns the server's port on 127.0.0.1. */
    int port();

    /**
     * Returns the address for clients.
     *
     * @param port the port of the server, or of a proxy to it
     * @return a JDBC URL, or host and port
     */
    String address(int port);

    String username();

    String password();
  }
}
