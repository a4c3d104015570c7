package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.StoreList.Part;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Several stores as one, all of whose leases a leader holds: for the move of a running service from
 * one store to another. While its nodes move one after the other, those on {@code A}, on the list
 * {@code A, B} and on {@code B} share a part with each neighbour. Nodes on {@code A} and on
 * {@code B} alone share none, and must never run at the same time.
 *
 * <p>The record of an election is the list of its records in the parts, and changes whenever one of
 * them does. There is none while a part has none. A node acquires all parts in one term, or gives
 * back what it has taken; it never leads by fewer.
 *
 * <p>Two nodes whose lists share a part never lead at the same time. The reasons are those of that
 * part alone:
 *
 * <ul>
 *   <li>The elector takes the deadline before the first part is asked, and a renewal counts only if
 *       every part has confirmed it. So the deadline is early enough for each part.
 *   <li>The elector begins to watch a record after the last part has answered, and the lease is the
 *       longest of all parts. So whoever has watched the list for a lease has watched each part for
 *       its own.
 *   <li>An acquisition compares each part's record, in that part, with what was watched.
 *   <li>The record is {@linkplain LeaseRow#own() own} only if all parts are, in one term: then this
 *       process has led last in each of them.
 *   <li>All parts grant the same term, and each a greater one than ever before. So terms grow
 *       through all steps of a move.
 * </ul>
 *
 * <p>A part that is no store can only keep this node from leading. It is told to lead when all
 * leases are open to this node, asked whenever somebody asks whether this node leads, and let go
 * before a lease is handed back, or when this node has not led by the list for a lease.
 *
 * <p>The order of the writes matters to none of these. Acquisitions follow the names of the parts,
 * so that of two nodes whose lists differ in order one takes all parts. A part to which a write is
 * made late names this node, which does not lead by it, until it expires.
 *
 * <p>What this costs, on purpose:
 *
 * <ul>
 *   <li>A call may take the sum of the time-outs of the parts: give each part its share of
 *       {@link LeaseSettings#operationTimeout()}.
 *   <li>A change of one part begins the wait for all parts again. So after a holder of one part has
 *       died, a hand-back in the other part costs up to a lease, once.
 *   <li>An acquisition reads each part once more before its first write, and a hand-back before it
 *       releases anything: a part that has changed then costs no other part a term.
 *   <li>The elector knows one {@link StoreHealth} for the stores, whose failure names the part.
 * </ul>
 */
public class JointLeaseStore implements LeaseStore, LeadershipCondition {

  /** How the history explains a term in which not all parts were granted. */
  private static final TermEnd GIVEN_BACK = TermEnd.of(LeadershipLostEvent.Reason.RESIGNED);

  /** How often a record is compared that its leader renews meanwhile. */
  private static final int ATTEMPTS = 3;

  private final StoreList list;

  private final Supplier<String> nodeId;

  private final JointRule rule;

  /** The longest lease that the parts promised by election, for parts that no longer state one. */
  private final Map<String, Long> promised = new HashMap<>();

  /** The record that was locked last in a part, by election. */
  private final Map<String, LeaseRow> locked = new HashMap<>();

  /** The parts in the order in which they are renewed: the one that failed last is the first. */
  private final List<Part> renewalOrder;

  /**
   * Creates a list that is an {@link ElectionDirectory} if one of its stores is.
   *
   * @param parts the parts in the order in which people see them; at least one is a store
   * @param settings the settings of the elector that uses the list
   * @param nodeId supplies the id of this node while that elector runs
   * @param ticker the monotonic clock; {@code System::nanoTime} in production
   * @param executor calls the parts that are no stores: at least two threads for each
   * @throws IllegalArgumentException if no part is a store, or two have one name or are one store
   */
  public static JointLeaseStore of(
      List<JointPart> parts,
      LeaseSettings settings,
      Supplier<String> nodeId,
      Ticker ticker,
      Executor executor) {
    return of(new StoreList(parts, settings, ticker, executor), nodeId);
  }

  static JointLeaseStore of(StoreList list, Supplier<String> nodeId) {
    return list.hasDirectory()
        ? new WithDirectory(list, nodeId)
        : new JointLeaseStore(list, nodeId, new JointRule());
  }

  JointLeaseStore(StoreList list, Supplier<String> nodeId, JointRule rule) {
    this.list = list;
    this.nodeId = nodeId;
    this.rule = rule;
    this.renewalOrder = new ArrayList<>(list.parts());
  }

  /**
   * Returns the health of the parts that were called, by their names. May be called by any thread.
   *
   * @return the health, in the order of the list
   */
  public Map<String, StoreHealth> health() {
    return this.list.health();
  }

  /** Returns the names of the parts, in the order of the list. */
  public List<String> names() {
    return this.list.names();
  }

  @Override
  public String name() {
    return this.list.name();
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    this.list.services().read(serviceIds);
    List<Map<String, Reading>> answers = new ArrayList<>();
    LeaseStoreException failure = null;
    for (Part part : this.list.byName()) {
      try {
        answers.add(part.call((store) -> store.read(serviceIds)));
      } catch (LeaseStoreException ex) {
        // The others are asked too: otherwise they would look silent.
        failure = failure != null ? failure : ex;
      }
    }
    if (failure != null) {
      throw failure;
    }
    Map<String, Reading> readings = new LinkedHashMap<>();
    for (String id : serviceIds) {
      List<@Nullable LeaseRow> rows = new ArrayList<>();
      answers.forEach((answer) -> rows.add(row(answer, id)));
      LeaseRow row = this.rule.join(rows, this.nodeId.get(), this.promised.get(id));
      if (row != null) {
        List<Reading> found = answers.stream()
            .map((each) -> each.get(id))
            .filter(Objects::nonNull)
            .toList();
        Duration age = found.stream().map(Reading::age).min(Duration::compareTo).orElseThrow();
        int ahead = found.stream().mapToInt(Reading::ahead).max().orElseThrow();
        readings.put(id, new Reading(row, age, ahead));
        if (row.leaseMillis() != null) {
          this.promised.put(id, row.leaseMillis());
        }
      }
    }
    return readings;
  }

  /** Reads the records of an election in all parts, in the order of their names. */
  private List<@Nullable LeaseRow> rows(String serviceId) throws LeaseStoreException {
    List<@Nullable LeaseRow> rows = new ArrayList<>();
    for (Part part : this.list.byName()) {
      rows.add(readRow(part, serviceId));
    }
    return rows;
  }

  private static @Nullable LeaseRow readRow(Part part, String serviceId)
      throws LeaseStoreException {
    return row(part.call((store) -> store.read(Set.of(serviceId))), serviceId);
  }

  private static @Nullable LeaseRow row(Map<String, Reading> readings, String serviceId) {
    Reading reading = readings.get(serviceId);
    return reading != null ? reading.row() : null;
  }

  /** Renews the parts one after the other: a lease that one does not renew rests in the others. */
  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    Map<String, Long> renewed = new LinkedHashMap<>(terms);
    Set<String> unknown = new LinkedHashSet<>();
    String problem = "";
    for (Part part : List.copyOf(this.renewalOrder)) {
      if (renewed.isEmpty() && !terms.isEmpty()) {
        break;
      }
      Renewals each;
      try {
        each = part.call((store) -> store.renew(nodeId, Map.copyOf(renewed)));
      } catch (LeaseStoreException ex) {
        renewFirst(part);
        if (renewed.size() == terms.size()) {
          throw ex;
        }
        unknown.addAll(renewed.keySet());
        return new Renewals(Set.of(), unknown, LeaseStoreException.text(ex));
      }
      if (!each.unknown().isEmpty()) {
        renewFirst(part);
        unknown.addAll(each.unknown());
        problem = part.naming(each.problem());
      }
      renewed.keySet().retainAll(each.renewed());
    }
    this.list.services().used(renewed.keySet());
    return new Renewals(Set.copyOf(renewed.keySet()), unknown, problem);
  }

  private void renewFirst(Part part) {
    this.renewalOrder.remove(part);
    this.renewalOrder.add(0, part);
  }

  /**
   * {@inheritDoc} Creates the record in all parts that have none. If some had one, the list then has
   * a record that must be read: others may hold those parts.
   */
  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
    List<@Nullable LeaseRow> rows = rows(serviceId);
    List<LeaseRow> found = rows.stream().filter(Objects::nonNull).toList();
    if (found.stream().anyMatch(LeaseRow::isMoved)) {
      return Optional.empty();
    }
    // The leader of the list may still lead without the record that is missing.
    long lease = claim.leaseMillis();
    for (LeaseRow row : found) {
      lease = row.promisedMillis(lease);
    }
    long above = Math.max(claim.aboveTerm(), JointRule.highestTerm(found));
    for (int i = 0; i < rows.size(); i++) {
      if (rows.get(i) == null) {
        Claim each = new Claim(claim.nodeId(), lease, above, claim.reason());
        Optional<LeaseRow> created =
            this.list.byName().get(i).call((store) -> store.create(serviceId, each));
        if (created.isEmpty()) {
          return Optional.empty();
        }
        rows.set(i, created.get());
        above = created.get().term() - 1;
      }
    }
    this.list.services().used(Set.of(serviceId));
    return found.isEmpty()
        ? Optional.ofNullable(this.rule.join(rows, claim.nodeId(), null))
        : Optional.empty();
  }

  /**
   * {@inheritDoc} Writes only to the parts that name the holder as the record of the list does: the
   * others belong to other nodes, or to any. They are compared when the lease is acquired. Writes
   * nothing while a part that is no store does not name this node.
   */
  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
    if (!this.list.services().areLed(serviceId)) {
      // The node that has that part waits until the others have rested for a lease.
      return Optional.empty();
    }
    List<@Nullable LeaseRow> rows = new ArrayList<>(JointRule.parts(seen));
    for (int i = 0; i < rows.size(); i++) {
      LeaseRow row = rows.get(i);
      if (row != null
          && row.leaderId().equals(seen.leaderId())
          && row.isReleased() == seen.isReleased()) {
        Optional<LeaseRow> touched =
            this.list.byName().get(i).call((store) -> store.touch(serviceId, row));
        if (touched.isEmpty()) {
          return Optional.empty();
        }
        rows.set(i, touched.get());
      }
    }
    this.list.services().used(Set.of(serviceId));
    return Optional.ofNullable(this.rule.join(rows, this.nodeId.get(), seen.leaseMillis()));
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
      throws LeaseStoreException {
    if (!this.list.services().areLed(serviceId) || !isAsSeen(serviceId, seen)) {
      return OptionalLong.empty();
    }
    List<LeaseRow> rows =
        JointRule.parts(seen).stream().filter(Objects::nonNull).toList();
    boolean created = claim.reason() == LeadershipAcquiredEvent.Reason.CREATED;
    long above = created ? seen.term() - 1 : Math.max(claim.aboveTerm(), seen.term());
    List<Long> taken = new ArrayList<>();
    try {
      for (int i = 0; i < rows.size(); i++) {
        LeaseRow row = rows.get(i);
        // Of several terms that were created, the parts with a lower one begin the highest.
        LeadershipAcquiredEvent.Reason reason = created && row.term() != seen.term()
            ? LeadershipAcquiredEvent.Reason.DESIGNATED
            : claim.reason();
        Claim each = new Claim(claim.nodeId(), claim.leaseMillis(), above, reason);
        OptionalLong term =
            this.list.byName().get(i).call((store) -> store.acquire(serviceId, row, each));
        term.ifPresent(taken::add);
        if (term.isEmpty() || !this.rule.mayLead(taken)) {
          giveBack(serviceId, claim.nodeId(), rows, taken);
          return OptionalLong.empty();
        }
        above = term.getAsLong() - 1;
      }
      this.list.services().used(Set.of(serviceId));
      return OptionalLong.of(above + 1);
    } catch (RecordLockedException ex) {
      giveBack(serviceId, claim.nodeId(), rows, taken);
      // What is given back changes the record of the list: only here it is seen that this part's
      // has not changed.
      LeaseRow row = rows.get(taken.size());
      throw new RecordLockedException(
          LeaseStoreException.text(ex), row.equals(this.locked.put(serviceId, row)));
    } catch (LeaseStoreException ex) {
      giveBack(serviceId, claim.nodeId(), rows, taken);
      throw ex;
    }
  }

  private boolean isAsSeen(String serviceId, LeaseRow seen) throws LeaseStoreException {
    List<@Nullable LeaseRow> now = rows(serviceId);
    List<@Nullable LeaseRow> then = JointRule.parts(seen);
    for (int i = 0; i < then.size(); i++) {
      LeaseRow row = now.get(i);
      LeaseRow before = then.get(i);
      if (row == null || before == null || !row.isSameRecord(before)) {
        return false;
      }
    }
    return true;
  }

  /** Leaves the parts that were taken to the nodes that might have taken them. */
  private void giveBack(String serviceId, String nodeId, List<LeaseRow> rows, List<Long> taken) {
    for (int i = 0; i < taken.size(); i++) {
      Part part = this.list.byName().get(i);
      long term = taken.get(i);
      String next = rows.get(i).isReleased() ? rows.get(i).leaderId() : "";
      try {
        part.call((store) -> store.release(serviceId, nodeId, term, next, GIVEN_BACK));
      } catch (LeaseStoreException ex) {
        // It expires, since nobody renews it.
      }
    }
  }

  /**
   * {@inheritDoc} If the node has lost a part, the parts that it still holds are handed back too, to
   * the node that was written into the other part. A part that cannot be reached keeps no other from
   * being handed back; the outcome is then unknown.
   */
  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException {
    // First, so that the node that a hand-back wakes finds all parts open.
    this.list.services().letGo(serviceId);
    List<HeldPart> parts = new ArrayList<>();
    LeaseStoreException failure = null;
    for (Part part : this.list.byName()) {
      try {
        parts.add(new HeldPart(part, readRow(part, serviceId), nodeId, term));
      } catch (LeaseStoreException ex) {
        failure = ex;
      }
    }
    boolean holdsAny = parts.stream().anyMatch(HeldPart::isHeld);
    boolean lost = !parts.stream().allMatch((part) -> part.isHeld() || part.isReleased());
    if (failure == null && (successor != null ? lost || !holdsAny : !lost && holdsAny)) {
      return false;
    }
    String next = successor != null ? successor : HeldPart.named(parts);
    boolean handedBack = true;
    boolean ceded = false;
    for (HeldPart each : parts) {
      try {
        if (each.isHeld()) {
          handedBack &=
              each.part().call((store) -> store.release(serviceId, nodeId, term, next, ending));
        } else if (successor == null && each.isOfTerm()) {
          ceded |=
              each.part().call((store) -> store.release(serviceId, nodeId, term, null, ending));
        }
      } catch (LeaseStoreException ex) {
        failure = ex;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return successor != null ? handedBack : ceded;
  }

  /**
   * {@inheritDoc} Parts without a record have nothing to edit, and a mark stays in its part. The
   * first part decides whether the record is as read.
   */
  @Override
  public boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    if (seen != null && !isAsSeen(serviceId, seen)) {
      return false;
    }
    boolean written = false;
    for (int i = 0; i < this.list.byName().size(); i++) {
      Part part = this.list.byName().get(i);
      LeaseRow row = seen != null ? JointRule.parts(seen).get(i) : null;
      if (row == null || !row.isMoved()) {
        boolean each = part.call((store) -> store.designate(serviceId, leaderId, row, auditNote));
        if (!each && seen != null && !written) {
          return false;
        }
        if (!each && row != null) {
          designateAnew(part, serviceId, leaderId, row, auditNote);
        }
        written |= each;
      }
    }
    return written;
  }

  /** Edits a part that its leader has renewed meanwhile, which it cannot do in all parts. */
  private static void designateAnew(
      Part part, String serviceId, String leaderId, LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    for (int i = 0; i < ATTEMPTS; i++) {
      LeaseRow row = readRow(part, serviceId);
      if (row == null
          || row.term() != seen.term()
          || !row.leaderId().equals(seen.leaderId())
          || part.call((store) -> store.designate(serviceId, leaderId, row, auditNote))) {
        return;
      }
    }
  }

  @Override
  public String stand(String serviceId) {
    return this.list.services().stand(serviceId);
  }

  @Override
  public boolean confirms(String serviceId) {
    return this.list.services().confirm(serviceId);
  }

  @Override
  public boolean isConditional() {
    return !this.list.services().isEmpty();
  }

  @Override
  public Watch watch(String nodeId, Wake wake) {
    return this.list.watch(nodeId, wake);
  }

  @Override
  public void close() {
    this.promised.clear();
    this.locked.clear();
    this.list.close();
  }

  /** A list of which a part at least shows members and history. */
  private static final class WithDirectory extends JointLeaseStore implements ElectionDirectory {

    private final StoreList list;

    WithDirectory(StoreList list, Supplier<String> nodeId) {
      super(list, nodeId, new JointRule());
      this.list = list;
    }

    @Override
    public void announce(Announcement self) throws LeaseStoreException {
      this.list.announce(self);
    }

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      return this.list.members(serviceIds);
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
      return this.list.history(serviceIds);
    }

    @Override
    public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
      this.list.prune(belowTerms, retention);
    }
  }
}
