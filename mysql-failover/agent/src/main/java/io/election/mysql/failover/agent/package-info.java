/**
 * The agent beside a MySQL server. It stands for election as the agent of the source, promotes its
 * server, makes it replicate from the source, and fences it.
 */
@NullMarked
package io.election.mysql.failover.agent;

import org.jspecify.annotations.NullMarked;
