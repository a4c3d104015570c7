/**
 * A MariaDB for machines that have no database at hand: it spares a first visitor of the sample an
 * installation, and the tests Docker.
 */
@NullMarked
package io.election.embedded;

import org.jspecify.annotations.NullMarked;
