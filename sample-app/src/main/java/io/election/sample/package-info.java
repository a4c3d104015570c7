/** A small service with one job for the leader and one for every node. */
@NullMarked
package io.election.sample;

import org.jspecify.annotations.NullMarked;
