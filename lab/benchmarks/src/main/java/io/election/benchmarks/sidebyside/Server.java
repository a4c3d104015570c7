package io.election.benchmarks.sidebyside;

import java.util.Map;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

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

  /** Returns the host of the server that a node of a candidate uses. */
  default String host(int node) {
    return "127.0.0.1";
  }

  @Override
  void close();

  /**
   * The place where the nodes of one candidate meet.
   *
   * @param port the server's port on 127.0.0.1
   * @param address the address for clients: a JDBC URL, or host and port
   */
  record Place(int port, String address, String username, String password) {

    DataSource dataSource() {
      return new DriverManagerDataSource(this.address, this.username, this.password);
    }

    Place withPassword(String other) {
      return new Place(this.port, this.address, this.username, other);
    }

    /** Returns the same place at another port, for example a proxy's. */
    Place through(int other) {
      String address = this.address.replace(":" + this.port, ":" + other);
      return new Place(other, address, this.username, this.password);
    }
  }
}
