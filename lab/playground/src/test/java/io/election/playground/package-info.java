@NullMarked
package io.election.playground;

import org.jspecify.annotations.NullMarked;
