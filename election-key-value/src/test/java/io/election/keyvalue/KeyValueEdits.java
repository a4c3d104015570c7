package io.election.keyvalue;

import io.election.test.ManualEdits;
import io.election.test.ManualEdits.Term;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The edits of operators, by any tool that puts and deletes keys. */
public final class KeyValueEdits implements ManualEdits {

  /** The tool. */
  public interface Hand {

    /** Writes a key without regard for versions. */
    void put(String key, String value);

    /** Deletes a key. */
    void delete(String key);

    /** Returns the keys below another, and their values, in the order of the keys. */
    Map<String, String> below(String parent);

    /** Returns the value of a key. */
    String get(String key);
  }

  private final Hand hand;

  public KeyValueEdits(Hand hand) {
    this.hand = hand;
  }

  /** With an unknown lease, as an operator designates: by the name alone. */
  @Override
  public void replace(String serviceId, String leaderId, @Nullable Long leaseMillis) {
    this.hand.put(
        Keys.record(serviceId),
        leaseMillis == null
            ? leaderId + "\n"
            : Json.write(new LeaseRecord(null, leaderId, null, leaseMillis, null)));
  }

  @Override
  public void copy(String from, String to) {
    this.hand.put(Keys.record(to), this.hand.get(Keys.record(from)));
  }

  @Override
  public void setLeader(String serviceId, String leaderId) {
    edit(
        serviceId,
        (old) -> new LeaseRecord(
            old.election(),
            leaderId,
            old.term(),
            old.leaseMillis(),
            old.heartbeat(),
            old.history()));
  }

  @Override
  public void setTerm(String serviceId, long term) {
    edit(
        serviceId,
        (old) -> new LeaseRecord(
            old.election(), old.leader(), term, old.leaseMillis(), old.heartbeat(), old.history()));
  }

  @Override
  public void setVersion(String serviceId, long version) {
    touch(serviceId);
  }

  /** A lease of 0 is written as by a leader that hands back. */
  @Override
  public void setLease(String serviceId, @Nullable Long leaseMillis) {
    String history = leaseMillis != null && leaseMillis == 0
        ? Lineage.Identity.of(this.hand.get(Keys.IDENTITY)).id()
        : null;
    edit(
        serviceId,
        (old) -> new LeaseRecord(
            old.election(), old.leader(), old.term(), leaseMillis, old.heartbeat(), history));
  }

  @Override
  public void touch(String serviceId) {
    this.hand.put(Keys.record(serviceId), this.hand.get(Keys.record(serviceId)));
  }

  @Override
  public void setBack(String serviceId, Duration by) {
    touch(serviceId);
  }

  @Override
  public void delete(String serviceId) {
    this.hand.delete(Keys.record(serviceId));
  }

  @Override
  public void insertTerm(String serviceId, long term, String leaderId, long leaseMillis) {
    this.hand.put(
        Keys.term(serviceId, term),
        Json.write(io.election.keyvalue.Term.opened(leaderId, leaseMillis, "by hand", null, 1)));
  }

  @Override
  public void endTerm(String serviceId, long term, Duration ago) {
    String key = Keys.term(serviceId, term);
    io.election.keyvalue.Term old = io.election.keyvalue.Term.of(this.hand.get(key));
    this.hand.put(
        key,
        Json.write(new io.election.keyvalue.Term(
            old.leader(),
            old.leaseMillis(),
            old.reason(),
            old.heartbeat(),
            old.from(),
            System.currentTimeMillis() - ago.toMillis(),
            old.endReason(),
            old.endedBy(),
            old.note())));
  }

  @Override
  public void deleteHistory(String serviceId) {
    this.hand.below(Keys.terms(serviceId)).keySet().forEach(this.hand::delete);
  }

  @Override
  public List<Term> history(String serviceId) {
    List<Term> terms = new ArrayList<>();
    this.hand.below(Keys.terms(serviceId)).forEach((key, value) -> {
      io.election.keyvalue.Term term = io.election.keyvalue.Term.of(value);
      if (term.leader() != null) {
        terms.add(new Term(
            Long.parseLong(Keys.name(key)),
            term.leader(),
            term.leaseMillis(),
            term.open(),
            term.reason(),
            term.endReason(),
            term.endedBy(),
            term.note()));
      }
    });
    return terms;
  }

  private void edit(String serviceId, UnaryOperator<LeaseRecord> edit) {
    String key = Keys.record(serviceId);
    this.hand.put(key, Json.write(edit.apply(LeaseRecord.of(this.hand.get(key), serviceId))));
  }
}
