package io.election.keyvalue;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.keyvalue.ElectionReading.TermEntry;
import io.election.keyvalue.HeldLeases.Held;
import io.election.keyvalue.KeyValueServer.Answer;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Stores leases under versioned keys. The package says how, and why that is safe.
 *
 * <p>Not thread-safe, except for watches: use it from one thread at a time.
 */
public class KeyValueLeaseStore implements LeaseStore, ElectionDirectory {

  /** For how long a take-over goes on with the operation of the read that has shown the record. */
  private static final long FRESH_NANOS = Duration.ofMillis(250).toNanos();

  private static final int PRUNED_AT_ONCE = 50;

  private static final String DISPLACED = LeadershipLostEvent.Reason.DISPLACED.name();

  private final KeyValueServer server;
  private final InstantSource clock;
  private final Ticker ticker;
  private final Members members;
  private final TermHistory history;
  private final WatchedKeys followed;
  private final Records records;
  private final Lineage lineage;
  private final HeldLeases life;
  private final Renewal renewal;
  private final Release release;

  /**
   * What no server misses, and what shows whether it belongs to the history that it names.
   *
   * @param at before it was read
   */
  private record Look(Map<String, ElectionReading> views, Answer<OptionalLong> logIndex, long at) {}

  /** What the last call has read, if that is all that a take-over reads. */
  private @Nullable Look last;

  /** The node that was announced; {@code null} if none was. */
  private @Nullable String self;

  /**
   * Creates the store, which connects upon the first call.
   *
   * @param server the server, which is closed with the store
   */
  protected KeyValueLeaseStore(KeyValueServer server) {
    this(server, InstantSource.system(), System::nanoTime, KeyValueLeaseStore::random);
  }

  /** Creates a store with clocks of its own and with texts that no other process has. */
  KeyValueLeaseStore(
      KeyValueServer server, InstantSource clock, Ticker ticker, Supplier<String> random) {
    this(server, clock, ticker, random, new HeldLeases(random), new WatchedKeys());
  }

  /** Creates a store with a life and with followed records of its own too. */
  KeyValueLeaseStore(
      KeyValueServer server,
      InstantSource clock,
      Ticker ticker,
      Supplier<String> random,
      HeldLeases life,
      WatchedKeys followed) {
    this.server = server;
    this.followed = followed;
    this.clock = clock;
    this.ticker = ticker;
    this.life = life;
    this.members = new Members(server, clock, ticker);
    this.history = new TermHistory(server);
    this.lineage = new Lineage(server, clock, random);
    this.records = new Records(server, this.followed, this.lineage, this.life);
    this.renewal = new Renewal(server, clock, this.lineage, this.life);
    this.release = new Release(
        server, clock, this.records, this.lineage, this.life, this.followed, this.members);
  }

  private static String random() {
    byte[] random = new byte[9];
    new SecureRandom().nextBytes(random);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /**
   * Returns the key that a fence compares: it changes when the term ends, and is never created again.
   *
   * @param serviceId the election
   * @param term the term in which the work began
   * @return the key
   */
  public static String termKey(String serviceId, long term) {
    return Keys.term(serviceId, term);
  }

  /**
   * Returns whether the value of a term's key shows that a node leads in it.
   *
   * @param value the value
   * @return {@code false} if the term has ended, or no node has led in it
   */
  public static boolean isOpenTerm(String value) {
    Term term = Term.of(value);
    return term.open() && term.heartbeat() != null;
  }

  @Override
  public String name() {
    return this.server.name();
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    if (serviceIds.isEmpty()) {
      return Map.of();
    }
    begin();
    long asked = this.clock.millis();
    Map<String, ElectionReading> views = poll(serviceIds);
    long middle = asked + (this.clock.millis() - asked) / 2;
    Map<String, Reading> readings = new LinkedHashMap<>();
    views.forEach((id, view) -> {
      this.life.saw(view);
      LeaseRow row = this.life.row(view);
      if (row != null) {
        Duration age = view.age(middle);
        readings.put(id, new Reading(row, age, view.isVacant() ? this.followed.ahead(id) : 0));
      }
    });
    this.followed.follow(serviceIds);
    return readings;
  }

  /** Reads what a take-over would read too, if this node will probably try for a record. */
  private Map<String, ElectionReading> poll(Set<String> serviceIds) throws LeaseStoreException {
    Set<String> open = this.followed.open(serviceIds);
    long at = this.ticker.read();
    Map<String, ElectionReading> views = this.records.poll(serviceIds, open);
    Map<String, ElectionReading> free = new HashMap<>();
    for (String id : open) {
      ElectionReading view = views.get(id);
      if (view != null && view.isVacant()) {
        free.put(id, view);
      }
    }
    if (!free.isEmpty()) {
      this.last = new Look(free, this.server.logIndex(), at);
    }
    return views;
  }

  /**
   * Goes on with the operation of the last call if that has read what this one would read, and begins
   * one otherwise.
   *
   * @return what was read; {@code null} if it must be read
   */
  private @Nullable ElectionReading goOn(String serviceId) throws LeaseStoreException {
    Look last = this.last;
    ElectionReading view = last != null && this.ticker.read() - last.at() < FRESH_NANOS
        ? last.views().get(serviceId)
        : null;
    if (last == null || view == null) {
      begin();
      return null;
    }
    this.last = null;
    return this.lineage.goesOn(view.snapshot(), last.logIndex()) ? view : null;
  }

  private void begin() {
    this.last = null;
    this.server.begin();
  }

  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    begin();
    return this.renewal.renew(nodeId, terms);
  }

  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
    begin();
    for (int i = 0; i < Records.ATTEMPTS; i++) {
      ElectionReading view = this.records.inspect(serviceId);
      if (view.entry() != null) {
        return Optional.empty();
      }
      if (mark(view, claim.aboveTerm())) {
        continue;
      }
      long lease = Math.max(claim.leaseMillis(), view.newestLeaseMillis());
      long term = view.unusedTerm(claim.aboveTerm());
      long now = this.clock.millis();
      LeaseRecord record =
          new LeaseRecord(serviceId, claim.nodeId(), term, lease, LeaseRecord.NO_HEARTBEAT);
      Term opened = Term.opened(claim.nodeId(), lease, claim.reason().name(), null, now);
      List<Write> writes = view.ending(DISPLACED, now);
      writes.add(new Create(Keys.record(serviceId), Json.write(record)));
      writes.add(new Create(Keys.term(serviceId, term), Json.write(opened)));
      Optional<Map<String, Version>> created = this.server.commit(new Commit(Map.of(), writes, 0));
      if (created.isPresent()) {
        return written(view, record, created.get());
      }
    }
    return Optional.empty();
  }

  /**
   * Adds a first term to an empty history if the server reuses versions: each request that changes
   * who may lead compares and changes the newest term, so one must exist.
   *
   * @return whether the election must be read again
   */
  private boolean mark(ElectionReading view, long above) throws LeaseStoreException {
    if (!view.terms().isEmpty() || !this.server.reusesVersions()) {
      return false;
    }
    long number = view.unusedTerm(above);
    this.server.commit(new Commit(
        Map.of(),
        List.of(new Create(Keys.term(view.serviceId(), number), Json.write(Term.MARK))),
        0));
    return true;
  }

  private Optional<LeaseRow> written(
      ElectionReading view, LeaseRecord record, Map<String, Version> versions) {
    Entry before = view.entry();
    String value = before != null ? before.value() : Json.write(record);
    Entry entry = new Entry(value, Renewal.version(versions, Keys.record(view.serviceId())), false);
    this.followed.wrote(view.serviceId(), entry.version());
    return Optional.ofNullable(this.life.row(new ElectionReading(
        view.serviceId(), view.snapshot(), entry, record, view.terms(), view.values())));
  }

  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
    begin();
    for (int i = 0; i < Records.ATTEMPTS; i++) {
      ElectionReading view = this.records.inspect(serviceId);
      Entry record = view.entry();
      if (record == null || record.foreign() || !view.shows(seen)) {
        return Optional.empty();
      }
      Put put = new Put(Keys.record(serviceId), record.value(), record.version());
      Optional<Map<String, Version>> touched =
          this.server.commit(new Commit(view.checks(), List.of(put), 0));
      if (touched.isPresent()) {
        return written(view, view.lease(), touched.get());
      }
    }
    return Optional.empty();
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
      throws LeaseStoreException {
    // The holder's next renewal comes a renew interval after this instant: followers rely on it.
    long asked = this.clock.millis();
    ElectionReading read = goOn(serviceId);
    for (int i = 0; i < Records.ATTEMPTS; i++) {
      ElectionReading view = i == 0 && read != null ? read : this.records.inspect(serviceId);
      Entry entry = view.entry();
      if (entry == null || entry.foreign() || !view.shows(seen)) {
        return OptionalLong.empty();
      }
      if (mark(view, claim.aboveTerm())) {
        continue;
      }
      boolean begins = claim.reason() == LeadershipAcquiredEvent.Reason.CREATED;
      long term = begins ? seen.term() : nextTerm(view, Math.max(seen.term(), claim.aboveTerm()));
      LeaseRecord record =
          new LeaseRecord(serviceId, claim.nodeId(), term, claim.leaseMillis(), this.life.token());
      List<Write> writes = leading(view, term, begins, claim, TermEnd.asFound(seen));
      writes.add(new Put(Keys.record(serviceId), Json.write(record), entry.version()));
      this.life.heartbeatIfAbsent(asked).ifPresent(writes::add);
      Map<String, Version> checks = view.checks();
      writes.forEach((write) -> checks.remove(write.key()));
      Lineage.lead(view.snapshot(), checks, writes);
      this.life.check(checks);
      this.life.names(serviceId);
      Commit commit = new Commit(checks, writes, 0);
      Optional<Map<String, Version>> taken = this.renewal.commit(commit);
      if (taken.isPresent()) {
        Version written = Renewal.version(taken.get(), Keys.record(serviceId));
        this.life.leads(
            view,
            new Held(
                claim.nodeId(),
                term,
                written,
                Renewal.entry(commit, taken.get(), Keys.term(serviceId, term))));
        this.followed.wrote(serviceId, written);
        return OptionalLong.of(term);
      }
    }
    return OptionalLong.empty();
  }

  private static long nextTerm(ElectionReading view, long above) throws LeaseStoreException {
    return view.terms().isEmpty() ? view.unusedTerm(above) : view.termAbove(above);
  }

  private List<Write> leading(
      ElectionReading view, long term, boolean begins, Claim claim, String lastEnd) {
    long now = this.clock.millis();
    TermEntry created = begins ? view.terms().get(term) : null;
    if (created != null) {
      Term led = created.term().led(claim.leaseMillis(), this.life.token(), now);
      return new ArrayList<>(List.of(view.put(term, created, led)));
    }
    List<Write> writes = view.ending(lastEnd, now);
    if (!begins) {
      Term opened = Term.opened(
          claim.nodeId(), claim.leaseMillis(), claim.reason().name(), this.life.token(), now);
      writes.add(new Create(Keys.term(view.serviceId(), term), Json.write(opened)));
    }
    return writes;
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException {
    begin();
    return this.release.release(serviceId, nodeId, term, successor, ending);
  }

  @Override
  public boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    begin();
    for (int i = 0; i < Records.ATTEMPTS; i++) {
      ElectionReading view = this.records.inspect(serviceId);
      Entry entry = view.entry();
      if (entry == null || (seen != null && !view.shows(seen))) {
        return false;
      }
      LeaseRecord now = view.lease();
      List<Write> writes = new ArrayList<>();
      TermEntry ended = view.terms().get(view.term());
      if (auditNote != null
          && !now.released()
          && ended != null
          && ended.term().open()
          && ended.term().endedBy() == null) {
        writes.add(view.put(view.term(), ended, ended.term().noting(auditNote)));
      }
      LeaseRecord record = now.designating(serviceId, leaderId);
      writes.add(new Put(Keys.record(serviceId), Json.write(record), entry.version()));
      Map<String, Version> checks = seen != null ? view.checks() : new HashMap<>();
      writes.forEach((write) -> checks.remove(write.key()));
      if (!entry.foreign() && this.server.commit(new Commit(checks, writes, 0)).isPresent()) {
        return true;
      }
    }
    throw new LeaseStoreException(
        "The record of election '%s' belongs to another tool, or changes all the time."
            .formatted(serviceId));
  }

  @Override
  public Watch watch(String nodeId, Wake wake) {
    return this.followed.watch(this.server, nodeId, wake);
  }

  @Override
  public void announce(Announcement self) throws LeaseStoreException {
    begin();
    this.self = self.nodeId();
    this.members.announce(self);
  }

  @Override
  public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
    begin();
    Map<String, List<Member>> members = this.members.read(serviceIds);
    if (this.self != null) {
      this.followed.saw(members, this.self);
    }
    return members;
  }

  @Override
  public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
    begin();
    return this.history.read(serviceIds);
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    if (belowTerms.isEmpty()) {
      return;
    }
    begin();
    long oldest = this.clock.millis() - retention.toMillis();
    List<Write> deletions = this.history.outdated(belowTerms, oldest);
    deletions.addAll(this.members.outdated());
    if (deletions.isEmpty()) {
      return;
    }
    this.server.commit(
        new Commit(Map.of(), deletions.subList(0, Math.min(deletions.size(), PRUNED_AT_ONCE)), 0));
  }

  /** {@inheritDoc} Also closes the server, which is opened again by the next call. */
  @Override
  public void close() {
    this.life.beginAnew();
    this.last = null;
    this.members.forget();
    this.server.close();
  }
}
