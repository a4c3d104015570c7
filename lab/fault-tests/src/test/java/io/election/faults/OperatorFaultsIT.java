package io.election.faults;

/** People and monitors use the endpoint of three nodes on MySQL while a fault lasts. */
class OperatorFaultsIT extends OperatorFaultsContract {

  OperatorFaultsIT() {
    super(Engine.MYSQL);
  }
}
