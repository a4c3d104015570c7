/**
 * Where leases are kept: what a store must do, a reference store in memory, and a list of stores
 * that is a store.
 */
@NullMarked
package io.election.store;

import org.jspecify.annotations.NullMarked;
