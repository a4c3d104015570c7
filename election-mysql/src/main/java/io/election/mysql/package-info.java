/** Leases in MySQL or MariaDB, their schema, and the commit fence. */
@NullMarked
package io.election.mysql;

import org.jspecify.annotations.NullMarked;
