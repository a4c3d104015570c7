/** Leases in MySQL, MariaDB or PostgreSQL, their schema, and the commit fence. */
@NullMarked
package io.election.jdbc;

import org.jspecify.annotations.NullMarked;
