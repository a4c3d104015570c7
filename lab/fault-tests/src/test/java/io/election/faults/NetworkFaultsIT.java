package io.election.faults;

/** Faults of the network on MySQL. */
class NetworkFaultsIT extends NetworkFaultsContract {

  NetworkFaultsIT() {
    super(Engine.MYSQL);
  }
}
