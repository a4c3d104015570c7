/**
 * Processes that stand for election, the network between them and their server, and the judge of what
 * they claimed.
 */
@NullMarked
package io.election.test.process;

import org.jspecify.annotations.NullMarked;
