package io.election.mysql;

import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;

/**
 * A node's part in an election whose lease is a row of the table {@code leader_election} in MySQL or
 * MariaDB.
 */
public final class MysqlElectionService extends LeaseElectionService {

  /**
   * Creates the service; it takes part in the election while the elector runs.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param elector who drives it, over a {@link MysqlLeaseStore}
   * @throws IllegalArgumentException if the name cannot be used
   */
  public MysqlElectionService(String serviceId, Elector elector) {
    super(serviceId, elector);
  }
}
