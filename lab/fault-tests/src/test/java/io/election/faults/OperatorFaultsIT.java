package io.election.faults;

import org.junit.jupiter.api.Tag;

/** People and monitors use the endpoint of three nodes on MySQL while a fault lasts. */
@Tag("long")
class OperatorFaultsIT extends OperatorFaultsContract {

  OperatorFaultsIT() {
    super(Engine.MYSQL);
  }
}
