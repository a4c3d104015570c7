/**
 * A MariaDB for machines without a database: a first visitor can run the sample without an
 * installation, and the tests can run without Docker.
 */
@NullMarked
package io.election.embedded;

import org.jspecify.annotations.NullMarked;
