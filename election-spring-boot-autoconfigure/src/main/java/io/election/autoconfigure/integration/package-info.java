/** Leadership as the events of Spring Integration. Used by Spring Boot alone. */
@NullMarked
package io.election.autoconfigure.integration;

import org.jspecify.annotations.NullMarked;
