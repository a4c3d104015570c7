/** The servers that candidates elect their leaders on, and the proxies to them. */
@NullMarked
package io.election.benchmarks.servers;

import org.jspecify.annotations.NullMarked;
