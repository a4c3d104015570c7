package io.election.mysql.failover;

/**
 * Decides whether a server may join a source as its replica. Terms count promotions: the global
 * term is that of the last promotion, the local term is the last one found in the server's data.
 *
 * <p>A server that missed one promotion may join if it has no transactions beyond those that the
 * promoted server had at its promotion. A server that missed several promotions may not join. In
 * addition, a server is refused, whatever the terms, if one of the following applies: it has a
 * transaction that the source lacks (replication would diverge without an error); the source lacks
 * transactions that it had when it was promoted; the global term is below 1; or the server's data
 * contain a promotion but lack transactions that preceded it.
 */
public final class Joining {

  private static final String REBUILD = "Rebuild the server from the source (POST /rebuild)";

  private Joining() {}

  /**
   * Decides whether a server may join.
   *
   * @param localTerm the term found in the server's data; 0 for a new server
   * @param own the transactions that the server has executed or received
   * @param globalTerm the term of the last promotion; at least 1
   * @param promotedAt the transactions that the source had when it was promoted
   * @param source the transactions that the source has now
   * @return why the server is refused, and what to do; empty if it may join
   */
  public static String refusal(
      long localTerm, GtidSet own, long globalTerm, GtidSet promotedAt, GtidSet source) {
    GtidSet surplus = own.subtract(source);
    GtidSet lost = promotedAt.subtract(source);
    if (!lost.isEmpty()) {
      return "the source lacks transactions that it had when it was promoted: %s. It has lost data, or the record of promotions was changed. Restore whichever is wrong, and do not rebuild any server from this source until then"
          .formatted(lost);
    }
    if (!surplus.isEmpty()) {
      return "it has transactions that the source lacks: %s. Save them if they matter (mysqlbinlog --include-gtids), then rebuild the server from the source (POST /rebuild)"
          .formatted(surplus);
    }
    if (globalTerm < 1) {
      return "its data are of term %s, and the last promotion was in term %s, which is impossible: terms begin at 1. Restore what was changed"
          .formatted(localTerm, globalTerm);
    }
    if (localTerm == globalTerm && !own.contains(promotedAt)) {
      return "its data are of term %s, but its GTIDs lack %s, which precede that term: the GTIDs were reset. %s. If the record of promotions was written by hand, correct its position instead"
          .formatted(localTerm, promotedAt.subtract(own), REBUILD);
    }
    if (localTerm == 0 || localTerm == globalTerm) {
      return "";
    }
    if (localTerm > globalTerm) {
      return "its data are of term %s, but the last promotion was in term %s: the record of promotions or the table mysql_failover.promotion was changed. Compare with that table on the source, and restore whichever is wrong"
          .formatted(localTerm, globalTerm);
    }
    if (localTerm < globalTerm - 1) {
      return "its data are of term %s, and the last promotion was in term %s: it missed more than one. %s"
          .formatted(localTerm, globalTerm, REBUILD);
    }
    GtidSet beyond = own.subtract(promotedAt);
    return beyond.isEmpty()
        ? ""
        : "it has transactions that the source lacked when it was promoted: %s. %s"
            .formatted(beyond, REBUILD);
  }
}
