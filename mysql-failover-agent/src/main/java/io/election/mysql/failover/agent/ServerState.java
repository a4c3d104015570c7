package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;

/**
 * A server at one instant.
 *
 * @param uuid its {@code server_uuid}
 * @param executed the transactions that it has executed
 * @param received the transactions that it has executed or received
 * @param superReadOnly whether nobody can write
 * @param readOnly whether ordinary users cannot write
 * @param term the term that its data show; 0 if they show none
 * @param source the address of the source from which it replicates, {@code host:port}; empty if none
 * @param receiving whether its receiver is connected or tries to connect
 * @param connected whether its receiver is connected
 * @param applying whether its applier runs
 * @param lagSeconds how far the applier is behind, in seconds
 * @param acknowledging how many connected replicas acknowledge its transactions
 * @param id its {@code server_id}
 * @param receiverError the last error of its receiver; empty if there is none
 * @param applierError the last error of its applier; empty if there is none
 */
record ServerState(
    String uuid,
    GtidSet executed,
    GtidSet received,
    boolean superReadOnly,
    boolean readOnly,
    long term,
    String source,
    boolean receiving,
    boolean connected,
    boolean applying,
    long lagSeconds,
    int acknowledging,
    long id,
    String receiverError,
    String applierError) {}
