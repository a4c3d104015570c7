/** Compares all candidates: how long each has no leader, and whether it ever has two. */
@NullMarked
package io.election.benchmarks.sidebyside;

import org.jspecify.annotations.NullMarked;
