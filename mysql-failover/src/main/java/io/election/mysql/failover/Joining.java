package io.election.mysql.failover;

/**
 * Decides whether a server may join a source as its replica. A term counts promotions: the global
 * one is that of the last promotion, the local one is the last that the server's data show.
 *
 * <p>A server that missed one promotion may join if it has nothing beyond what the promoted server
 * had then; one that missed several may not. Beyond that, no server joins that has a transaction
 * which the source lacks, whatever the terms say: replication would diverge without an error. Nor
 * does one join a source that lacks what it had when it was promoted, or by a term below 1, nor one
 * whose data show a promotion without the transactions that came before it.
 */
public final class Joining {

  private static final String REBUILD = "Rebuild the server from the source (POST /rebuild)";

  private Joining() {}

  /**
   * The decision.
   *
   * @param allowed whether the server may join
   * @param reason why not, and what to do; empty if it may
   * @param surplus the server's own transactions that the source lacks, or that the promoted server
   *     lacked; empty if that is not the reason
   */
  public record Verdict(boolean allowed, String reason, GtidSet surplus) {

    private static final Verdict ALLOWED = new Verdict(true, "", GtidSet.EMPTY);
  }

  /**
   * Decides whether a server may join.
   *
   * @param localTerm the term that the server's data show; 0 on a new server
   * @param own the transactions that the server has executed or received
   * @param globalTerm the term of the last promotion; at least 1
   * @param promotedAt the transactions that the source had when it was promoted
   * @param source the transactions that the source has now
   * @return the decision
   */
  public static Verdict decide(
      long localTerm, GtidSet own, long globalTerm, GtidSet promotedAt, GtidSet source) {
    GtidSet surplus = own.subtract(source);
    GtidSet lost = promotedAt.subtract(source);
    if (!lost.isEmpty()) {
      return refused(
          "the source lacks transactions that it had when it was promoted: %s. It has lost data, or the record of promotions was changed. Restore what is wrong, and rebuild nothing from this source before"
              .formatted(lost),
          surplus);
    }
    if (!surplus.isEmpty()) {
      return refused(
          "it has transactions that the source lacks: %s. Save them if they matter (mysqlbinlog --include-gtids), then rebuild the server from the source (POST /rebuild)"
              .formatted(surplus),
          surplus);
    }
    if (globalTerm < 1) {
      return refused(
          "its data are of term %d, and the last promotion was in term %d, which cannot be: terms begin at 1. Restore what was changed"
              .formatted(localTerm, globalTerm),
          GtidSet.EMPTY);
    }
    if (localTerm == globalTerm && !own.contains(promotedAt)) {
      return refused(
          "its data are of term %d, but by its GTIDs it lacks %s, which came before that: somebody has reset them. %s. If the record of promotions was written by hand, correct its position instead"
              .formatted(localTerm, promotedAt.subtract(own), REBUILD),
          GtidSet.EMPTY);
    }
    if (localTerm == 0 || localTerm == globalTerm) {
      return Verdict.ALLOWED;
    }
    if (localTerm == globalTerm - 1) {
      GtidSet beyond = own.subtract(promotedAt);
      return beyond.isEmpty()
          ? Verdict.ALLOWED
          : refused(
              "it has transactions that the source lacked when it was promoted: %s. %s"
                  .formatted(beyond, REBUILD),
              beyond);
    }
    return refused(
        localTerm > globalTerm
            ? "its data are of term %d, but the last promotion was in term %d: the record of promotions or the table mysql_failover.promotion was changed. Compare with that table on the source, and restore what is wrong"
                .formatted(localTerm, globalTerm)
            : "its data are of term %d, and the last promotion was in term %d: it missed more than one. %s"
                .formatted(localTerm, globalTerm, REBUILD),
        GtidSet.EMPTY);
  }

  private static Verdict refused(String reason, GtidSet surplus) {
    return new Verdict(false, reason, surplus);
  }
}
