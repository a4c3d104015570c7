package io.election.store;

import io.election.Member;
import io.election.PastTerm;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseStore.Wake;
import io.election.store.LeaseStore.Watch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a {@link JointLeaseStore}: how each of them answers, and what they show together for
 * people. Used by the elector's thread; {@link #health} by any thread.
 */
final class StoreList {

  /** Separates the names of the parts where members and log lines show them. */
  private static final String SEPARATOR = ", ";

  /** A call to a part. */
  @FunctionalInterface
  interface Call<S, R> {

    R on(S store) throws LeaseStoreException;
  }

  /** One store of the list. */
  static final class Part {

    private final String name;

    private final LeaseStore store;

    private final Ticker ticker;

    private volatile @Nullable Contact contact;

    private Part(String name, LeaseStore store, Ticker ticker) {
      this.name = name;
      this.store = store;
      this.ticker = ticker;
    }

    String name() {
      return this.name;
    }

    LeaseStore store() {
      return this.store;
    }

    /** Calls the part. A failure names it, and is no other's, whatever the part throws. */
    <R> R call(Call<LeaseStore, @Nullable R> call) throws LeaseStoreException {
      Contact last = this.contact;
      long asked = this.ticker.read();
      Contact before = last != null ? last : new Contact(asked, asked, null);
      this.contact = before;
      try {
        @Nullable R answer = call.on(this.store);
        if (answer == null) {
          throw new LeaseStoreException("it answered null");
        }
        long now = this.ticker.read();
        this.contact = new Contact(now, now, null);
        return answer;
      } catch (LeaseStoreException | RuntimeException ex) {
        String text = LeaseStoreException.text(ex);
        this.contact = new Contact(
            before.answeredAt(), before.failure() != null ? before.failingSince() : asked, text);
        throw ex instanceof RecordLockedException
            ? new RecordLockedException(naming(text))
            : new LeaseStoreException(naming(text), ex);
      }
    }

    /** Returns a problem of this part, for people who see that of the list. */
    String naming(String problem) {
      return "Part '%s' of the list: %s".formatted(this.name, problem);
    }

    private @Nullable StoreHealth health(long now) {
      Contact last = this.contact;
      return last == null
          ? null
          : new StoreHealth(
              Duration.ofNanos(now - last.answeredAt()),
              last.failure() != null ? Duration.ofNanos(now - last.failingSince()) : Duration.ZERO,
              last.failure());
    }

    private void close() {
      this.store.close();
      this.contact = null;
    }
  }

  /**
   * How a part answered last. Instants are readings of the {@link Ticker}.
   *
   * @param answeredAt when it answered, or was first asked
   * @param failingSince when the first call was made that has failed since; meaningless if none has
   * @param failure the last failure since then, for display; {@code null} if the last call succeeded
   */
  private record Contact(
      long answeredAt, long failingSince, @Nullable String failure) {}

  private final List<String> names;

  private final List<Part> parts;

  private final List<Part> byName;

  private final ServiceList services;

  private final Ticker ticker;

  /**
   * Creates a list.
   *
   * @param parts the parts in the order in which people see them; at least one is a store
   */
  StoreList(List<JointPart> parts, LeaseSettings settings, Ticker ticker, Executor executor) {
    this.names = parts.stream().map(JointPart::name).toList();
    if (Set.copyOf(this.names).size() < parts.size()) {
      throw new IllegalArgumentException("Two parts of the list have one name: " + this.names);
    }
    this.parts = parts.stream()
        .filter(JointPart.Leases.class::isInstance)
        .map(JointPart.Leases.class::cast)
        .map((part) -> new Part(part.name(), part.store(), ticker))
        .toList();
    if (this.parts.isEmpty()) {
      throw new IllegalArgumentException("A list needs at least one store: " + this.names);
    }
    for (Part part : this.parts) {
      if (this.parts.stream().anyMatch((other) -> other != part && other.store() == part.store())) {
        throw new IllegalArgumentException("Two parts of the list are one store: " + this.names);
      }
    }
    this.byName = this.parts.stream().sorted(Comparator.comparing(Part::name)).toList();
    this.services = new ServiceList(parts, settings, ticker, executor);
    this.ticker = ticker;
  }

  /** Returns the parts that are no stores. */
  ServiceList services() {
    return this.services;
  }

  /** Returns the stores in the order of the list. */
  List<Part> parts() {
    return this.parts;
  }

  /** Returns the stores in the order that all nodes share, whatever the order of their lists. */
  List<Part> byName() {
    return this.byName;
  }

  List<String> names() {
    return this.names;
  }

  String name() {
    return String.join(SEPARATOR, this.names);
  }

  /**
   * Returns the health of the parts by their names: unlike the elector's, that of each part by its
   * last call alone.
   *
   * @return the health of the parts that were called since the list was created or closed
   */
  Map<String, StoreHealth> health() {
    long now = this.ticker.read();
    Map<String, StoreHealth> called = this.services.health();
    for (Part part : this.parts) {
      StoreHealth each = part.health(now);
      if (each != null) {
        called.put(part.name(), each);
      }
    }
    Map<String, StoreHealth> health = new LinkedHashMap<>();
    for (String name : this.names) {
      StoreHealth each = called.get(name);
      if (each != null) {
        health.put(name, each);
      }
    }
    return health;
  }

  /** Returns whether a part shows members and history. */
  boolean hasDirectory() {
    return !directories().isEmpty();
  }

  private List<Part> directories() {
    return this.parts.stream()
        .filter((part) -> part.store() instanceof ElectionDirectory)
        .toList();
  }

  /** Announces a node in all parts. A part that fails keeps no other from learning of the node. */
  void announce(Announcement self) throws LeaseStoreException {
    callAll((directory) -> directory.announce(self));
  }

  void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    callAll((directory) -> directory.prune(belowTerms, retention));
  }

  /**
   * Returns the members of all parts that answer; nodes on one part alone are only there. Throws if
   * none answers.
   */
  Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
    return union((directory) -> directory.members(serviceIds), Member::nodeId);
  }

  /**
   * Returns the last terms of all parts that answer, which share their numbers. Throws if none
   * answers.
   */
  Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
    Map<String, List<PastTerm>> histories =
        union((directory) -> directory.history(serviceIds), PastTerm::term);
    histories.replaceAll((id, terms) -> terms.stream()
        .sorted(Comparator.comparing(PastTerm::term).reversed())
        .limit(ElectionDirectory.HISTORY_LENGTH)
        .toList());
    return histories;
  }

  private <T> Map<String, List<T>> union(
      Call<ElectionDirectory, Map<String, List<T>>> call, Function<T, Object> key)
      throws LeaseStoreException {
    Map<String, Map<Object, T>> union = new LinkedHashMap<>();
    LeaseStoreException failure = null;
    boolean answered = false;
    for (Part part : directories()) {
      try {
        part.call((store) -> call.on((ElectionDirectory) store))
            .forEach((id, found) -> found.forEach((each) -> union
                .computeIfAbsent(id, (first) -> new LinkedHashMap<>())
                .putIfAbsent(key.apply(each), each)));
        answered = true;
      } catch (LeaseStoreException ex) {
        failure = ex;
      }
    }
    if (failure != null && !answered) {
      throw failure;
    }
    Map<String, List<T>> lists = new LinkedHashMap<>();
    union.forEach((id, found) -> lists.put(id, List.copyOf(found.values())));
    return lists;
  }

  /** Calls all parts; the first failure is thrown after that. */
  private void callAll(DirectoryCall call) throws LeaseStoreException {
    LeaseStoreException failure = null;
    for (Part part : directories()) {
      try {
        part.call((store) -> {
          call.on((ElectionDirectory) store);
          return true;
        });
      } catch (LeaseStoreException ex) {
        failure = failure != null ? failure : ex;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  @FunctionalInterface
  private interface DirectoryCall {

    void on(ElectionDirectory directory) throws LeaseStoreException;
  }

  /** Watches all parts, or none if that fails. */
  Watch watch(String nodeId, Wake wake) {
    List<Watch> watches = new ArrayList<>();
    Watch all = () -> watches.forEach(Watch::close);
    try {
      this.parts.forEach((part) -> watches.add(part.store().watch(nodeId, wake)));
      watches.add(this.services.watch(wake));
      return all;
    } catch (Throwable ex) {
      all.close();
      throw ex;
    }
  }

  void close() {
    this.services.close();
    this.parts.forEach(Part::close);
  }
}
