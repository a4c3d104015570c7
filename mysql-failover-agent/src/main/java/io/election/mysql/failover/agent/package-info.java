/**
 * The agent beside a MySQL server: it stands for the election of the source, promotes its server,
 * lets it follow the source, and fences it.
 */
@NullMarked
package io.election.mysql.failover.agent;

import org.jspecify.annotations.NullMarked;
