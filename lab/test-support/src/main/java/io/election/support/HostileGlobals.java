package io.election.support;

import static java.util.Map.entry;

import java.util.Map;
import java.util.stream.Collectors;

/**
 * Global variables of a server that are the defaults of its sessions and with which an election
 * cannot work. The sessions of tests start with them too: their writes are not committed. Use this
 * only for a server that no other test shares.
 */
public final class HostileGlobals implements AutoCloseable {

  private final TestServer server;
  private final Map<String, String> values;

  private HostileGlobals(TestServer server) {
    this.server = server;
    String transaction = server.isMariaDb() ? "tx_" : "transaction_";
    this.values = Map.ofEntries(
        entry("autocommit", "0"),
        entry("completion_type", "1"),
        entry(transaction + "isolation", "'SERIALIZABLE'"),
        entry(transaction + "read_only", "1"),
        entry("time_zone", "'-08:00'"),
        entry("sql_mode", "'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'"),
        entry("sql_safe_updates", "1"),
        entry("sql_select_limit", "1"),
        entry("max_join_size", "1"),
        entry("innodb_lock_wait_timeout", "30"),
        entry("lock_wait_timeout", "30"));
  }

  public static HostileGlobals set(TestServer server) {
    HostileGlobals globals = new HostileGlobals(server);
    server.execute(globals.values.entrySet().stream()
        .map((global) -> global.getKey() + " = " + global.getValue())
        .collect(Collectors.joining(", ", "SET GLOBAL ", "")));
    return globals;
  }

  @Override
  public void close() {
    this.server.execute(this.values.keySet().stream()
        .map((global) -> global + " = DEFAULT")
        .collect(Collectors.joining(", ", "SET GLOBAL ", "")));
  }
}
