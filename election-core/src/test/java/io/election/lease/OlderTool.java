package io.election.lease;

/** The other tools that write to the row. */
enum OlderTool {
  NONE,
  /** Nodes of an older tool whose interval is at least as long as our leases. */
  OLDER_TOOL,
  /** Nodes of an older tool whose interval is shorter than our leases. */
  HASTY_OLDER_TOOL
}
