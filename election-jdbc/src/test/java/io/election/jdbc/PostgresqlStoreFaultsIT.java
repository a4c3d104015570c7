package io.election.jdbc;

import org.junit.jupiter.api.Tag;

/** How a store on PostgreSQL behaves when the database fails. */
@Tag("faults")
@OnEveryServer(mysql = false, postgresql = true)
class PostgresqlStoreFaultsIT extends StoreFaultsContract {}
