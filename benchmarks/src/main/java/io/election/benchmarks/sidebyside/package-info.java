/** All candidates side by side: who is without a leader for how long, and who has two. */
@NullMarked
package io.election.benchmarks.sidebyside;

import org.jspecify.annotations.NullMarked;
