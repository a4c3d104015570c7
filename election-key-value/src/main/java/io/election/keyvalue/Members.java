package io.election.keyvalue;

import io.election.Member;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Delete;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Folder;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseStoreException;
import io.election.store.Presence;
import io.election.store.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The nodes that stand for elections. A node has two keys: what it is, written when that changes,
 * and a small one that it writes to show that it is there. The times in them are of the node that
 * wrote them, and for people: who is there is judged by whether this process sees the small key
 * change, on its own monotonic clock.
 */
final class Members {

  /**
   * The value of a member's key.
   *
   * @param since when the node came, by its own clock
   * @param revision the revision of the cluster when the node came, which gives the order
   */
  record Description(
      @Nullable String nodeId,
      long since,
      long revision,
      boolean eligible,
      long leaseMillis,
      @Nullable Set<String> services,
      @Nullable Set<String> paused,
      @Nullable String version,
      @Nullable String algorithm,
      @Nullable Map<String, String> positions,
      @Nullable String label) {

    static Description of(Announcement self, long since, long revision) {
      return new Description(
          self.nodeId(),
          since,
          revision,
          self.eligible(),
          self.lease().toMillis(),
          new TreeSet<>(self.serviceIds()),
          new TreeSet<>(self.paused()),
          self.version(),
          self.algorithm(),
          self.positions().isEmpty() ? null : self.positions(),
          self.label().isEmpty() ? null : self.label());
    }
  }

  private final KeyValueServer server;
  private final InstantSource clock;
  private final Ticker ticker;
  private final Presence<Version> presence;
  private @Nullable Announcement announced;
  private @Nullable Version described;
  private @Nullable Version seen;

  /** When this node came; 0 if it has not. */
  private long since;

  private long revision;

  Members(KeyValueServer server, InstantSource clock, Ticker ticker) {
    this.server = server;
    this.clock = clock;
    this.ticker = ticker;
    this.presence = new Presence<>(ticker);
  }

  void announce(Announcement self) throws LeaseStoreException {
    long now = this.clock.millis();
    String key = Keys.member(self.nodeId());
    String seenKey = Keys.seen(self.nodeId());
    if (self.equals(this.announced) && this.seen != null) {
      Put put = new Put(seenKey, Long.toString(now), this.seen);
      if (commit(List.of(put), key, seenKey)) {
        return;
      }
    }
    if (self.serviceIds().isEmpty() && this.since == 0) {
      return;
    }
    this.announced = null;
    Snapshot found = this.server.read(new Query(Set.of(key, seenKey), Set.of(), true));
    if (this.since == 0) {
      this.since = now;
      this.revision = found.revision();
    }
    List<Write> writes = new ArrayList<>();
    if (self.serviceIds().isEmpty()) {
      found.entries().forEach((old, entry) -> writes.add(new Delete(old, entry.version())));
    } else {
      writes.add(write(found, key, Json.write(Description.of(self, this.since, this.revision))));
      writes.add(write(found, seenKey, Long.toString(now)));
    }
    // If another process with this name has just written, what either wrote last is shown.
    boolean written = writes.isEmpty() || commit(writes, key, seenKey);
    if (self.serviceIds().isEmpty()) {
      forget();
    } else if (written) {
      this.announced = self;
    }
  }

  /** Returns the deletions of what this process has written last; none if it does not know it. */
  List<Write> leaving() {
    Announcement self = this.announced;
    return self != null && this.described != null && this.seen != null
        ? List.of(
            new Delete(Keys.member(self.nodeId()), this.described),
            new Delete(Keys.seen(self.nodeId()), this.seen))
        : List.of();
  }

  private static Write write(Snapshot found, String key, String value) {
    Entry entry = found.entries().get(key);
    return entry != null ? new Put(key, value, entry.version()) : new Create(key, value);
  }

  private boolean commit(List<Write> writes, String key, String seenKey)
      throws LeaseStoreException {
    Optional<Map<String, Version>> versions = this.server.commit(new Commit(Map.of(), writes, 0));
    this.seen = versions.isPresent() ? versions.get().get(seenKey) : null;
    this.described = versions.isPresent() ? versions.get().getOrDefault(key, this.described) : null;
    return versions.isPresent();
  }

  Map<String, List<Member>> read(Set<String> serviceIds) throws LeaseStoreException {
    long asked = this.ticker.read();
    Snapshot found = inspect();
    List<Description> nodes = new ArrayList<>();
    found.entries().forEach((key, entry) -> {
      Description node =
          key.startsWith(Keys.MEMBERS) ? Json.read(entry.value(), Description.class) : null;
      if (node != null && node.nodeId() != null) {
        nodes.add(node);
      }
    });
    nodes.sort(Comparator.comparing(Description::revision)
        .thenComparing((node) -> String.valueOf(node.nodeId())));
    Map<String, List<Member>> members = new LinkedHashMap<>();
    serviceIds.forEach((id) -> members.put(id, new ArrayList<>()));
    nodes.forEach((node) -> {
      if (node.nodeId() == null || node.services() == null) {
        return;
      }
      String key = Keys.seen(node.nodeId());
      Entry seen = found.entries().get(key);
      if (seen == null || !this.presence.isThere(key, seen.version(), node.leaseMillis(), asked)) {
        return;
      }
      long lastSeen = Heartbeat.of(seen.value()).at();
      for (String id : node.services()) {
        if (members.containsKey(id)) {
          members
              .get(id)
              .add(new Member(
                  node.nodeId(),
                  Instant.ofEpochMilli(node.since()),
                  Instant.ofEpochMilli(lastSeen),
                  node.eligible(),
                  node.paused() != null && node.paused().contains(id),
                  node.version() != null ? node.version() : "",
                  node.algorithm() != null ? node.algorithm() : "",
                  node.positions() != null ? node.positions().getOrDefault(id, "") : "",
                  Duration.ofMillis(node.leaseMillis()),
                  node.label() != null ? node.label() : ""));
        }
      }
    });
    return members;
  }

  /**
   * Reads all members and heartbeats, and notes which of them have changed. The heartbeats too: who
   * prunes must have watched them.
   */
  private Snapshot inspect() throws LeaseStoreException {
    Snapshot found = this.server.read(new Query(
        Set.of(),
        Set.of(
            new Folder(Keys.HEARTBEATS, Integer.MAX_VALUE),
            new Folder(Keys.SEEN, Integer.MAX_VALUE),
            new Folder(Keys.MEMBERS, Integer.MAX_VALUE)),
        false));
    Map<String, Version> versions = new HashMap<>();
    found.entries().forEach((key, entry) -> versions.put(key, entry.version()));
    this.presence.saw(versions);
    return found;
  }

  /**
   * Returns the deletions of heartbeats and members that this process has seen unchanged for a day.
   * Each compares the version that it has seen.
   */
  List<Write> outdated() throws LeaseStoreException {
    long asked = this.ticker.read();
    Snapshot found = inspect();
    List<Write> deletions = new ArrayList<>();
    found.entries().forEach((key, entry) -> {
      if (!key.startsWith(Keys.MEMBERS) && this.presence.isGone(key, entry.version(), asked)) {
        deletions.add(new Delete(key, entry.version()));
        Entry member = found.entries().get(Keys.MEMBERS + "/" + Keys.name(key));
        if (key.startsWith(Keys.SEEN) && member != null) {
          deletions.add(new Delete(Keys.MEMBERS + "/" + Keys.name(key), member.version()));
        }
      }
    });
    return deletions;
  }

  void forget() {
    this.announced = null;
    this.described = null;
    this.seen = null;
    this.since = 0;
    this.presence.clear();
  }
}
