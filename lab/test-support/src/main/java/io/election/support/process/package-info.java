/**
 * Processes that take part in elections, the network between them and their server, and the judge
 * of their claims.
 */
@NullMarked
package io.election.support.process;

import org.jspecify.annotations.NullMarked;
