package io.election.lease;

/** A failure or a deliberate action. */
public enum Fault {
  CRASH,
  RESTART,
  TWIN,
  /** Another process is restored from a checkpoint that was already used once. */
  RESTORED_AGAIN,
  /** A process that follows is copied, with all that it knows. */
  COPIED,
  PAUSE,
  SUSPEND,
  CUT_OFF,
  DATABASE_STALLS,
  DATABASE_CLOCK_STEPS,
  FAILOVER,
  WALL_CLOCK_STEPS,
  DESIGNATED_BY_SQL,
  DESIGNATED_AND_BACK,
  REPLACED,
  DELETED,
  TABLES_EMPTIED,
  LEASE_EDITED,
  TERM_LOWERED,
  RESIGN,
  HAND_OVER,
  CAMPAIGN,
  SIGNAL,
  PAUSED_BY_OPERATOR,
  RESUMED_BY_OPERATOR,
  STOP,
  WORK,
  ROW_LOCKED
}
