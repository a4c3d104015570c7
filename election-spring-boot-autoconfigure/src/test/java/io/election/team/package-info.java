/** An application with most of the features that the starter meets in practice. */
package io.election.team;
