package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.ManualAllocation;
import io.election.joint.PartSource;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseStore;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;

/** Gives the parts of a list to the elector. */
final class PartSources {

  private static final Logger log = LoggerFactory.getLogger(PartSources.class);

  private static final String UNNAMED = "default";

  private final List<ListedPart> parts;

  private final BeanFactory beanFactory;

  private final Supplier<ManualAllocation> allocation;

  private final LeaderWork work;

  /** The services of manual allocation, which must be started and stopped. */
  private final List<ManualAllocationElectionService> allocated = new ArrayList<>();

  /** The services of the application. */
  private final Map<String, ElectionService> services = new LinkedHashMap<>();

  /**
   * Creates the sources.
   *
   * @param allocation called only if manual allocation is a part
   * @param work the leader work that must end before an allocation does
   */
  PartSources(
      List<ListedPart> parts,
      BeanFactory beanFactory,
      Supplier<ManualAllocation> allocation,
      LeaderWork work) {
    this.parts = List.copyOf(parts);
    this.beanFactory = beanFactory;
    this.allocation = allocation;
    this.work = work;
  }

  List<String> names() {
    return this.parts.stream().map(ListedPart::name).toList();
  }

  /** Starts manual allocation. */
  void start() {
    this.allocated.forEach((service) -> {
      // Work that outlived the last stop has kept it.
      service.stop();
      service.start();
    });
  }

  /** Stops manual allocation, unless leader work runs: the elector hands it back after that. */
  void stop() {
    this.allocated.stream()
        .filter((service) -> !this.work.isRunning(service.serviceId()))
        .forEach(ManualAllocationElectionService::stop);
  }

  /** Warns of services that call this node otherwise than the election does. */
  void warnOfOtherNodeIds(String nodeId) {
    String unnamed = Long.toString(ProcessHandle.current().pid());
    this.services.forEach((name, service) -> {
      try {
        String own = service.nodeId();
        if (!own.equals(nodeId) && !own.equals(unnamed)) {
          log.warn(
              "node {} of the election is node {} for its part '{}': the endpoint may show either name; let nodeId() return the first, or set as.election.node-id to the second",
              nodeId,
              own,
              name);
        }
      } catch (Throwable ex) {
        // It must not fail the start, as it decides nothing.
        log.warn(
            "part '{}' of the election cannot tell its node id: {}; let nodeId() return {}",
            name,
            ex.toString(),
            nodeId);
      }
    });
  }

  /** Returns the sources in the order of the parts. */
  List<PartSource> all() {
    Set<String> taken = new HashSet<>();
    return this.parts.stream().map((part) -> source(part, taken)).toList();
  }

  /** Names a store as nodes without a list do, unless two stores have the same name. */
  private PartSource source(ListedPart part, Set<String> taken) {
    return switch (part.kind()) {
      case MANUAL_ALLOCATION -> {
        ManualAllocation allocation = this.allocation.get();
        yield new PartSource(part.name(), null, (serviceId) -> allocated(allocation, serviceId));
      }
      case SERVICE -> new PartSource(part.name(), null, (serviceId) -> service(part, serviceId));
      case STORE -> {
        LeaseStore store = this.beanFactory.getBean(part.beanName(), LeaseStore.class);
        String name = taken.add(store.name()) ? store.name() : part.name();
        yield PartSource.of(name, store);
      }
    };
  }

  private ElectionService allocated(ManualAllocation allocation, String serviceId) {
    ManualAllocationElectionService service = allocation.service(serviceId, (event) -> {});
    this.allocated.add(service);
    return service;
  }

  private ElectionService service(ListedPart part, String serviceId) {
    ElectionService service = this.beanFactory.getBean(part.beanName(), ElectionService.class);
    String own = service.serviceId();
    if (!own.equals(serviceId) && !own.equals(UNNAMED)) {
      throw ListedPart.invalid(
          names(),
          "the election is '%s', but serviceId() of bean '%s' is '%s': all parts must mean the same election; let it return '%s', or set as.election.service-id=%s"
              .formatted(serviceId, part.name(), own, serviceId, own));
    }
    this.services.put(part.name(), service);
    return service;
  }
}
