/**
 * Elections by a list of parts, all of which a leader must hold: for the move of a running service
 * from one store to another.
 */
@NullMarked
package io.election.joint;

import org.jspecify.annotations.NullMarked;
