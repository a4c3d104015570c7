/** Auto-configuration of elections in MySQL or MariaDB: the connection and the tables. */
@NullMarked
package io.election.autoconfigure.mysql;

import org.jspecify.annotations.NullMarked;
