/** Database servers and tools that the tests of all modules share. */
@NullMarked
package io.election.support;

import org.jspecify.annotations.NullMarked;
