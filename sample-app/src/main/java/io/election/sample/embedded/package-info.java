/**
 * A database for machines that have none at hand. It spares a first visitor an installation and is no
 * part of what the sample shows.
 */
@NullMarked
package io.election.sample.embedded;

import org.jspecify.annotations.NullMarked;
