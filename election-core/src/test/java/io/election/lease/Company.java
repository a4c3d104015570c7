package io.election.lease;

/** Who else works on the row. */
enum Company {
  NONE,
  /** Nodes of an older tool, whose interval is no shorter than our leases. */
  OLDER_TOOL,
  /** Nodes of an older tool, whose interval is shorter than our leases. */
  HASTY_OLDER_TOOL
}
