/** Those who elect a leader, each in a process of its own, asked each millisecond. */
@NullMarked
package io.election.benchmarks.candidates;

import org.jspecify.annotations.NullMarked;
