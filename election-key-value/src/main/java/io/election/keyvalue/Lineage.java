package io.election.keyvalue;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.election.keyvalue.KeyValueServer.Answer;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseStoreException;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out whether the server went back to an earlier state: it was restored from a snapshot, or
 * its data were replaced by an older copy. A node that took a record after that state may still
 * lead, and left no trace.
 *
 * <p>A key beside the records, the {@link Identity}, names the history that the records belong to.
 * It is part of what followers watch, and is compared by each take-over. A node that finds no proof
 * that the history goes on replaces it.
 */
final class Lineage {

  private static final Logger log = LoggerFactory.getLogger(Lineage.class);

  /** More writes than a cluster makes between a snapshot and its restore: a year at 30,000 a second. */
  private static final long LOST_WRITES = 1_000_000_000_000L;

  /** How many times a call reads: each time another node may have replaced the identity. */
  private static final int ATTEMPTS = 4;

  /**
   * The name of a history, and what proves that it goes on.
   *
   * @param id a random text
   * @param led whether a node has led since, which has watched its record for a lease
   * @param epoch the epoch of the servers
   * @param surplus at most by how many the entries of the server's log exceeded its writes; 0 if the
   *     server does not count entries
   * @param skipped a term that begins at a revision is at most so much above it
   * @param usedTerms no later term can have begun before this identity
   */
  record Identity(
      @Nullable String id, boolean led, long epoch, long surplus, long skipped, long usedTerms) {

    private static final Identity NONE = new Identity("", false, -1, 0, 0, 0);

    static Identity in(Snapshot snapshot) {
      Entry entry = snapshot.entries().get(Keys.IDENTITY);
      return entry != null ? of(entry.value()) : NONE;
    }

    static Identity in(Snapshot snapshot, Values values) {
      Entry entry = snapshot.entries().get(Keys.IDENTITY);
      return entry != null
          ? values.of(Identity.class, Keys.IDENTITY, entry.value(), Identity::of)
          : NONE;
    }

    static Identity of(String value) {
      Identity found = Json.read(value, Identity.class);
      return found != null ? found : NONE;
    }
  }

  /**
   * Why a reading may not show the history that its identity names.
   *
   * @param lost whether it is known that writes were lost, whose revisions come again
   */
  private record Doubt(String reason, boolean lost) {}

  private final KeyValueServer server;
  private final InstantSource clock;
  private final Supplier<String> random;

  /** The greatest revision that this process has seen. */
  private long greatest;

  /** Whether the next poll must ask a quorum which history this is. */
  private boolean doubtful = true;

  Lineage(KeyValueServer server, InstantSource clock, Supplier<String> random) {
    this.server = server;
    this.clock = clock;
    this.random = random;
  }

  /** Returns the greatest revision that this process has seen. */
  long greatest() {
    return this.greatest;
  }

  /** Notes what a poll has shown, by any server: it may be old. */
  void saw(Snapshot snapshot) {
    this.doubtful = snapshot.epoch() > Identity.in(snapshot).epoch();
    this.greatest = Math.max(this.greatest, snapshot.revision());
  }

  /** Before a poll: asks a quorum, if the last poll has failed or has shown a reason to. */
  void check() throws LeaseStoreException {
    if (this.doubtful) {
      boolean goesOn = false;
      for (int i = 0; i < ATTEMPTS && !goesOn; i++) {
        goesOn = goesOn(this.server.read(new Query(Set.of(Keys.IDENTITY), Set.of(), true)));
      }
    }
    this.doubtful = true;
  }

  /**
   * Returns whether a fresh reading shows the history that its identity names. If not, there is
   * another identity now.
   */
  boolean goesOn(Snapshot fresh) throws LeaseStoreException {
    return goesOn(fresh, this.server.logIndex());
  }

  /**
   * The same, with the log of the server.
   *
   * @param logIndex was asked for after the reading
   */
  boolean goesOn(Snapshot fresh, Answer<OptionalLong> logIndex) throws LeaseStoreException {
    Doubt doubt = doubt(fresh, logIndex.await());
    if (doubt == null) {
      this.greatest = fresh.revision();
      return true;
    }
    Entry old = fresh.entries().get(Keys.IDENTITY);
    // Entries are counted before writes, so that the surplus is not too high.
    OptionalLong entries = this.server.logIndex().await();
    Snapshot now = this.server.read(new Query(Set.of(Keys.IDENTITY), Set.of(), true));
    this.greatest = now.revision();
    long skipped = skipped(Identity.in(fresh), doubt, now.revision());
    Identity next = new Identity(
        this.random.get(),
        false,
        now.epoch(),
        entries.isPresent() ? entries.getAsLong() - now.revision() : 0,
        skipped,
        skipped + now.revision());
    Write write = old != null
        ? new Put(Keys.IDENTITY, Json.write(next), old.version())
        : new Create(Keys.IDENTITY, Json.write(next));
    if (this.server.commit(new Commit(Map.of(), List.of(write), 0)).isPresent() && old != null) {
      log.warn(
          "{} {}: whoever led before may still lead, so each record is watched for a whole lease before a node takes it",
          this.server.name(),
          doubt.reason());
    }
    return false;
  }

  /**
   * Returns how far the next term is above a revision. Data that were restored twice are the same
   * both times; only the time differs. The time in microseconds is above all earlier terms. A wrong
   * clock may repeat a term of a lost history. That does not decide who leads.
   */
  private long skipped(Identity before, Doubt doubt, long revision) {
    if (before.equals(Identity.NONE) && !doubt.lost()) {
      return 0;
    }
    long least = before.skipped() + (doubt.lost() ? LOST_WRITES : 0);
    return Math.max(least, MILLISECONDS.toMicros(this.clock.millis()) - revision);
  }

  private @Nullable Doubt doubt(Snapshot fresh, OptionalLong logIndex) {
    Identity identity = Identity.in(fresh);
    long revision = fresh.revision();
    if (logIndex.isPresent() && logIndex.getAsLong() - revision < identity.surplus()) {
      return new Doubt(
          "was restored from a snapshot (%s entries of its log make %s writes)"
              .formatted(logIndex.getAsLong(), revision),
          true);
    }
    if (revision < this.greatest && (identity.led() || identity.usedTerms() < this.greatest)) {
      return new Doubt(
          "was set back (revision %s comes after %s)".formatted(revision, this.greatest), true);
    }
    if (fresh.epoch() != identity.epoch()) {
      return new Doubt(
          "has chosen its leader, or was restarted (epoch %s comes after %s)"
              .formatted(fresh.epoch(), identity.epoch()),
          false);
    }
    return null;
  }

  /**
   * Notes the versions that a commit has written.
   *
   * @return whether they come after all that this process has seen
   */
  boolean wrote(Map<String, Version> versions) {
    long before = this.greatest;
    for (Version version : versions.values()) {
      if (version.written() <= before) {
        return false;
      }
      this.greatest = Math.max(this.greatest, version.written());
    }
    return true;
  }

  /** Makes a take-over depend on the identity, under which a node leads from then on. */
  static void lead(Snapshot seen, Map<String, Version> checks, List<Write> writes) {
    Identity identity = Identity.in(seen);
    Entry entry = seen.entries().get(Keys.IDENTITY);
    if (entry == null) {
      throw new IllegalStateException("The reading shows no identity");
    }
    if (identity.led()) {
      checks.put(Keys.IDENTITY, entry.version());
    } else {
      Identity led = new Identity(
          identity.id(),
          true,
          identity.epoch(),
          identity.surplus(),
          identity.skipped(),
          identity.usedTerms());
      writes.add(new Put(Keys.IDENTITY, Json.write(led), entry.version()));
    }
  }
}
