/** Nodes of the sample as real processes, and a console in the browser that breaks and shows them. */
@NullMarked
package io.election.playground;

import org.jspecify.annotations.NullMarked;
