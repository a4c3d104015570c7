/** Auto-configuration of elections in MySQL, MariaDB or PostgreSQL: the connection and the tables. */
@NullMarked
package io.election.autoconfigure.jdbc;

import org.jspecify.annotations.NullMarked;
