/** An application that uses most of what the starter meets in practice. */
package io.election.team;
