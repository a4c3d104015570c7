package io.election.benchmarks.sidebyside;

import java.util.Map;

/** A running server that can be frozen. */
interface Server extends AutoCloseable {

  String version();

  /** Creates a place: an empty database, if the server has databases. */
  Place newPlace();

  /**
   * Returns what the server has counted since its start, for example {@code Questions}, and its
   * processor time as {@code cpu_seconds} if it is known. Empty if there are no counters.
   */
  default Map<String, Double> counters() {
    return Map.of();
  }

  /** Freezes the server: it accepts connections but never answers. */
  void pause();

  void resume();

  @Override
  void close();

  /**
   * The place where the nodes of one candidate meet.
   *
   * @param port the server's port on 127.0.0.1
   * @param address the address for clients: a JDBC URL, or host and port
   */
  record Place(int port, String address, String username, String password) {

    String through(int proxy) {
      return this.address.replace(":" + this.port, ":" + proxy);
    }
  }
}
