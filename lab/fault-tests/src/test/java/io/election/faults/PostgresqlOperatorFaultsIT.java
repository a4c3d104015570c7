package io.election.faults;

/** People and monitors use the endpoint of three nodes on PostgreSQL while a fault lasts. */
class PostgresqlOperatorFaultsIT extends OperatorFaultsContract {

  PostgresqlOperatorFaultsIT() {
    super(Engine.POSTGRESQL);
  }
}
