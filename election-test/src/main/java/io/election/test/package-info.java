/**
 * Elections for the tests of applications, without a database.
 *
 * <p>The test decides who leads a {@link io.election.test.ScriptedElection}. A {@link
 * io.election.test.SimulatedElection} has several nodes in one process, which elect as they do in
 * production, with a clock that only the test advances.
 */
@NullMarked
package io.election.test;

import org.jspecify.annotations.NullMarked;
