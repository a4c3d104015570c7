/**
 * The candidates that elect a leader. Each runs in its own process and is sampled every
 * millisecond.
 */
@NullMarked
package io.election.benchmarks.candidates;

import org.jspecify.annotations.NullMarked;
