/** The lease in MySQL or MariaDB. */
@NullMarked
package io.election.mysql;

import org.jspecify.annotations.NullMarked;
