/**
 * Auto-configuration of elections in MySQL or MariaDB: the connection, the tables and the commit
 * fence.
 */
@NullMarked
package io.election.autoconfigure.mysql;

import org.jspecify.annotations.NullMarked;
