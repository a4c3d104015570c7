/** Spring Boot auto-configuration of leader election. */
@NullMarked
package io.election.autoconfigure;

import org.jspecify.annotations.NullMarked;
