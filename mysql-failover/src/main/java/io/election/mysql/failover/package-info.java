/**
 * The rules by which replicas of a MySQL source take its place, by the transactions that they have
 * (GTIDs). No I/O, no threads, no clocks.
 */
@NullMarked
package io.election.mysql.failover;

import org.jspecify.annotations.NullMarked;
