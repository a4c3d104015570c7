/** An application with its own lease store, without the MySQL module. */
package io.election.ownstore;
