/** JMH benchmarks of a leadership query and a guarded call. */
@NullMarked
package io.election.benchmarks;

import org.jspecify.annotations.NullMarked;
