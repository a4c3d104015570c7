package io.election.keyvalue;

import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.lease.LeaseRow;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge of a store from its first use to its close: the leases that it holds, and the
 * heartbeat that renews them. Its token is drawn at the first use, so that processes restored from
 * one checkpoint have different ones.
 */
final class Life {

  /**
   * A lease that is held.
   *
   * @param record the version of its record
   * @param termKey the version of its term's key; {@code null} if it was not read
   */
  record Held(
      String nodeId, long term, Version record, @Nullable Version termKey) {}

  private @Nullable String token;

  /** The version of the heartbeat; {@code null} if it was not written or read yet. */
  private @Nullable Version heartbeat;

  /** The revision at which all held leases were last checked. */
  private long heldAt;

  private final Map<String, Held> held = new HashMap<>();

  /** The elections whose records may name this heartbeat. */
  private final Set<String> named = new TreeSet<>();

  /** The records that the last take-over of this life has left. */
  private final Map<String, View.Version> own = new HashMap<>();

  String token() {
    if (this.token == null) {
      byte[] random = new byte[12];
      new SecureRandom().nextBytes(random);
      this.token = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    }
    return this.token;
  }

  String heartbeatKey() {
    return Keys.heartbeat(token());
  }

  @Nullable
  LeaseRow row(View view) {
    boolean mine = view.heartbeat().equals(token());
    return view.row(mine ? this.own.get(view.serviceId()) : null);
  }

  boolean holdsAll(String nodeId, Map<String, Long> terms) {
    return held(nodeId, terms).size() == terms.size();
  }

  /** Returns those of the leases that are held. */
  Map<String, Held> held(String nodeId, Map<String, Long> terms) {
    Map<String, Held> leases = new HashMap<>();
    terms.forEach((id, term) -> {
      Held lease = this.held.get(id);
      if (lease != null
          && lease.nodeId().equals(nodeId)
          && lease.term() == term
          && this.heartbeat != null) {
        leases.put(id, lease);
      }
    });
    return leases;
  }

  /** The small write that renews all leases. It is executed only if no record has changed. */
  Commit renewal(Map<String, Held> renewing, boolean withTerms, long now) {
    Map<String, Version> checks = new HashMap<>();
    Set<String> except = new TreeSet<>();
    renewing.forEach((id, lease) -> {
      checks.put(Keys.record(id), lease.record());
      if (withTerms && lease.termKey() != null) {
        checks.put(Keys.term(id, lease.term()), lease.termKey());
      }
    });
    for (String id : this.named) {
      if (!renewing.containsKey(id)) {
        except.add(Keys.record(id));
      }
    }
    Version last = this.heartbeat;
    if (last == null) {
      throw new IllegalStateException("nothing is held");
    }
    Put put = new Put(heartbeatKey(), Heartbeat.value(now, except), last);
    return new Commit(checks, List.of(put), this.heldAt);
  }

  /** Notes the version of the heartbeat, if a commit has written it. */
  void renewed(Map<String, Version> versions) {
    Version written = versions.get(heartbeatKey());
    if (written != null) {
      this.heartbeat = written;
    }
  }

  Optional<Create> heartbeatIfAbsent(long now) {
    return this.heartbeat == null
        ? Optional.of(new Create(heartbeatKey(), Heartbeat.value(now, Set.of())))
        : Optional.empty();
  }

  /**
   * Notes the heartbeat as it was read. If it was deleted, this process holds no lease any more.
   *
   * @return whether it exists
   */
  boolean sawHeartbeat(Snapshot snapshot) {
    Entry found = snapshot.entries().get(heartbeatKey());
    this.heartbeat = found != null ? found.version() : null;
    if (found == null) {
      this.held.clear();
    }
    return found != null;
  }

  /** Notes whether a record names this heartbeat. */
  void saw(View view) {
    if (view.heartbeat().equals(token())) {
      this.named.add(view.serviceId());
    } else {
      this.named.remove(view.serviceId());
    }
  }

  void forgetHeld(long heldAt) {
    this.held.clear();
    this.heldAt = heldAt;
  }

  /** Returns whether a record shows a term as held by this life. */
  boolean holds(View view, String nodeId, long term, @Nullable Entry termEntry) {
    LeaseRecord lease = view.lease();
    if (view.entry() == null
        || view.entry().foreign()
        || !lease.leader().equals(nodeId)
        || (lease.term() != null && lease.term() != term)
        || (lease.leaseMillis() != null && lease.leaseMillis() <= 0)) {
      return false;
    }
    if (lease.heartbeat() != null) {
      return lease.heartbeat().equals(token());
    }
    Term opened = termEntry != null ? Term.of(termEntry.value()) : Term.MARK;
    return opened.open() && token().equals(opened.heartbeat());
  }

  void hold(View view, long term, @Nullable Entry termEntry) {
    if (view.entry() != null) {
      Version termKey = termEntry != null ? termEntry.version() : null;
      this.held.put(
          view.serviceId(), new Held(view.lease().leader(), term, view.entry().version(), termKey));
    }
  }

  /** Notes that the record of an election names this heartbeat, or will if a request arrives. */
  void names(String serviceId) {
    this.named.add(serviceId);
  }

  void leads(View view, String nodeId, long term, Version record, @Nullable Version termKey) {
    String id = view.serviceId();
    this.held.put(id, new Held(nodeId, term, record, termKey));
    this.own.put(id, new View.Version(record.written(), view.snapshot().identity(), 0));
  }

  void released(String serviceId) {
    this.held.remove(serviceId);
    this.named.remove(serviceId);
    this.own.remove(serviceId);
  }
}
