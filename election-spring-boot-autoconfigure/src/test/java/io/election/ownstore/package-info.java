/** An application that keeps its leases in a store of its own, without MySQL's module. */
package io.election.ownstore;
