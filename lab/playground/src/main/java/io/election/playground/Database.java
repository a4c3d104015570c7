package io.election.playground;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Starts a store of the election, and shows its record. */
interface Database extends AutoCloseable {

  /** Its product and place, for people. */
  String description();

  /** The URL for the nodes, before a link is put in between. */
  String url();

  String username();

  String password();

  /** Whether the links see its requests, which TLS hides. */
  boolean showsRequests();

  /** Why its process cannot be paused or killed; {@code null} if it can. */
  @Nullable
  String withoutProcess();

  /** The processes to end if the playground is killed. */
  List<Long> processes();

  void pause();

  void resume();

  void stop();

  void kill();

  void start();

  /** The record of an election as it is now; {@code null} if there is none. */
  @Nullable
  List<Cell> record(Connection connection, String serviceId) throws SQLException;

  /** The last terms of an election, the newest first. */
  List<Past> history(Connection connection, String serviceId) throws SQLException;

  /** Connects past all links. */
  Connection connect() throws SQLException;

  void delete(String serviceId) throws SQLException;

  void edit(String serviceId, String leaderId) throws SQLException;

  /** Locks the record until the returned transaction is closed. */
  Connection lock(String serviceId) throws SQLException;

  @Override
  void close();

  /** One column of the record. */
  record Cell(String name, String value) {}

  /** One past term. */
  record Past(long term, String leader, String at, String reason) {}
}
