/**
 * Elections for the tests of applications, without a database.
 *
 * <p>{@link io.election.testing.DecidedElection} is led by whom the test says, when it says so. {@link
 * io.election.testing.TickedElection} has several nodes in one process, which elect as they do in
 * production, by a clock that stands still until the test moves it.
 */
@NullMarked
package io.election.testing;

import org.jspecify.annotations.NullMarked;
