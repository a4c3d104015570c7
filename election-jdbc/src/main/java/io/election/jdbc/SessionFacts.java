package io.election.jdbc;

/**
 * What a server tells when a session is set up.
 *
 * @param product the name of the exact product; drivers may report that of a related one
 * @param source the server; distinguishes it from others
 * @param host the server as host name and port, for display
 * @param account the account that the server assigned to the session
 * @param schema where the tables are
 * @param restMillis after how long the server ends an idle session
 */
record SessionFacts(
    String product, String source, String host, String account, String schema, long restMillis) {}
