/** What a question and a guarded call cost, by JMH. */
@NullMarked
package io.election.benchmarks;

import org.jspecify.annotations.NullMarked;
