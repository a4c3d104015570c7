/**
 * Elections for the tests of applications, without a database.
 *
 * <p>The test decides who leads a {@link io.election.testing.ScriptedElection}. A {@link
 * io.election.testing.SimulatedElection} has several nodes in one process, which elect as they do in
 * production, with a clock that only the test advances.
 */
@NullMarked
package io.election.testing;

import org.jspecify.annotations.NullMarked;
