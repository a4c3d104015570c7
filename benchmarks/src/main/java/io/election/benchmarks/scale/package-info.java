/** A thousand nodes in a hundred elections on one database, and by simulation more than that. */
@NullMarked
package io.election.benchmarks.scale;

import org.jspecify.annotations.NullMarked;
