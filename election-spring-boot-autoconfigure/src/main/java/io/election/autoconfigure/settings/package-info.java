/**
 * What the configuration says of elections and of this node: the properties, the algorithm that they
 * name, the conditions on them, and what is told of those that cannot be used.
 */
@NullMarked
package io.election.autoconfigure.settings;

import org.jspecify.annotations.NullMarked;
