package io.election.store;

import io.election.store.LeaseStore.Wake;
import io.election.store.LeaseStore.Watch;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The parts of a {@link JointLeaseStore} that are no stores, in all its elections. Thread-safe. */
final class ServiceList {

  private static final Logger log = LoggerFactory.getLogger(ServiceList.class);

  private static final long ASKED_EVERY_NANOS = 10_000_000;

  private static final String CLOSED = "the list is closed";

  private final List<JointPart.Service> parts;

  private final LeaseSettings settings;

  private final Ticker ticker;

  private final Executor executor;

  /** The parts of each election, in their order. */
  private final Map<String, List<ServicePart>> elections = new ConcurrentHashMap<>();

  /** The elections that were read since the list was closed. */
  private final Set<String> read = ConcurrentHashMap.newKeySet();

  /** Wakes the elector; {@code null} if nobody watches. */
  private volatile @Nullable Wake wake;

  ServiceList(
      Collection<JointPart> parts, LeaseSettings settings, Ticker ticker, Executor executor) {
    this.parts = parts.stream()
        .filter(JointPart.Service.class::isInstance)
        .map(JointPart.Service.class::cast)
        .toList();
    this.settings = settings;
    this.ticker = ticker;
    this.executor = executor;
  }

  boolean isEmpty() {
    return this.parts.isEmpty();
  }

  private List<ServicePart> of(String serviceId) {
    return this.elections.computeIfAbsent(
        serviceId,
        (id) -> this.parts.stream()
            .map((part) -> new ServicePart(
                part.name(),
                () -> part.services().apply(id),
                this.settings,
                this.ticker,
                this.executor))
            .toList());
  }

  /** Returns what keeps this node from leading; empty if all parts name it. May block. */
  String stand(String serviceId) {
    for (ServicePart part : of(serviceId)) {
      if (!this.read.contains(serviceId)) {
        return CLOSED;
      }
      boolean led = part.stand();
      if (!this.read.contains(serviceId)) {
        // Closed in between: nobody else lets it go.
        part.letGo();
        return CLOSED;
      }
      if (!led) {
        return "part '%s' does not name this node".formatted(part.name());
      }
    }
    return "";
  }

  /** Returns whether all parts name this node at this instant. May block. */
  boolean confirm(String serviceId) {
    for (ServicePart part : of(serviceId)) {
      if (!part.confirms()) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether all parts named this node when they were asked last. */
  boolean areLed(String serviceId) {
    return isEmpty() || of(serviceId).stream().allMatch(ServicePart::isLed);
  }

  /** Notes that this node takes part in elections. */
  void read(Set<String> serviceIds) {
    if (!isEmpty()) {
      this.read.addAll(serviceIds);
    }
  }

  /** Notes that this node holds the leases of elections, or claims them. */
  void used(Collection<String> serviceIds) {
    if (isEmpty()) {
      return;
    }
    serviceIds.forEach((id) -> of(id).forEach(ServicePart::used));
    Wake wake = this.wake;
    if (wake != null && all().anyMatch(ServicePart::isSilent)) {
      // The thread that asks waits for the answer.
      this.executor.execute(wake::now);
    }
  }

  void letGo(String serviceId) {
    of(serviceId).forEach(ServicePart::letGo);
  }

  /** Lets all parts go. None is asked or told to lead before its election is read again. */
  void close() {
    this.read.clear();
    all().forEach(ServicePart::letGo);
  }

  private Stream<ServicePart> all() {
    return this.elections.values().stream().flatMap(List::stream);
  }

  Map<String, StoreHealth> health() {
    Map<String, StoreHealth> health = new LinkedHashMap<>();
    all().forEach((part) -> health.merge(part.name(), part.health(), ServiceList::worse));
    return health;
  }

  private static StoreHealth worse(StoreHealth one, StoreHealth other) {
    return other.failure() != null || one.silence().compareTo(other.silence()) < 0 ? other : one;
  }

  /** Asks all parts every 10 ms, until the watch is closed. */
  Watch watch(Wake wake) {
    if (isEmpty()) {
      return () -> {};
    }
    this.wake = wake;
    this.executor.execute(() -> {
      while (this.wake == wake) {
        try {
          ask();
        } catch (Throwable ex) {
          log.error("The parts of the list could not be asked", ex);
        }
        // A part may have interrupted its caller.
        Thread.interrupted();
        LockSupport.parkNanos(ASKED_EVERY_NANOS);
      }
    });
    return () -> this.wake = null;
  }

  /** Asks all parts, and wakes the elector if one no longer names this node. */
  void ask() {
    boolean lost = false;
    for (String serviceId : this.read) {
      for (ServicePart part : of(serviceId)) {
        lost |= part.ask();
      }
    }
    Wake wake = this.wake;
    if (lost && wake != null) {
      wake.now();
    }
  }
}
