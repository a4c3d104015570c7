/**
 * The rules by which replicas of a failed MySQL source replace it, based on the transactions that
 * they have (GTIDs). This package uses no I/O, no threads and no clocks.
 */
@NullMarked
package io.election.mysql.failover;

import org.jspecify.annotations.NullMarked;
