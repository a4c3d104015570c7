/** Leases in MySQL or MariaDB, their schema, and the commit fence. */
@NullMarked
package io.election.jdbc;

import org.jspecify.annotations.NullMarked;
