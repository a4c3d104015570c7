package io.election.jdbc;

/**
 * The entry of a term in the history.
 *
 * @param readOnly what makes its server read-only; empty if it accepts writes
 */
record FenceEntry(String leaderId, boolean isOpen, String readOnly) {}
