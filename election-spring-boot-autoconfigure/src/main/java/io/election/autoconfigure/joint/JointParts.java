package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.ManualAllocation;
import io.election.autoconfigure.settings.ElectionNames;
import io.election.autoconfigure.settings.LocalNode;
import io.election.store.JointPart;
import io.election.store.LeaseStore;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.env.Environment;

/** Makes the parts of a list from what its names mean. */
final class JointParts {

  private static final Logger log = LoggerFactory.getLogger(JointParts.class);

  /** The name of an election whose service does not tell it. */
  private static final String UNNAMED = "default";

  private final List<ListedPart> listed;

  private final BeanFactory beanFactory;

  private final Supplier<ManualAllocation> allocation;

  private final LocalNode node;

  private final String serviceId;

  /**
   * Creates the parts.
   *
   * @param allocation called only if manual allocation is a part
   */
  JointParts(
      List<ListedPart> listed,
      BeanFactory beanFactory,
      Environment environment,
      Supplier<ManualAllocation> allocation,
      LocalNode node) {
    this.listed = listed;
    this.beanFactory = beanFactory;
    this.allocation = allocation;
    this.node = node;
    this.serviceId = ElectionNames.from(environment).defaultName();
  }

  /** Returns the parts in the order of the list. */
  List<JointPart> all() {
    Set<String> taken = new HashSet<>();
    return this.listed.stream().map((part) -> part(part, taken)).toList();
  }

  /** Names a store as nodes without a list do, unless two stores have the same name. */
  private JointPart part(ListedPart part, Set<String> taken) {
    return switch (part.kind()) {
      case MANUAL_ALLOCATION -> new JointPart.Service(part.name(), allocated());
      case SERVICE -> new JointPart.Service(part.name(), service(part));
      case STORE -> {
        LeaseStore store = this.beanFactory.getBean(part.beanName(), LeaseStore.class);
        String name = taken.add(store.name()) ? store.name() : part.name();
        yield new JointPart.Leases(name, store);
      }
    };
  }

  private Function<String, ElectionService> allocated() {
    ManualAllocation allocation = this.allocation.get();
    return (serviceId) -> {
      ManualAllocationElectionService service = allocation.service(serviceId, (event) -> {});
      service.start();
      return service;
    };
  }

  private Function<String, ElectionService> service(ListedPart part) {
    ElectionService service = this.beanFactory.getBean(part.beanName(), ElectionService.class);
    // A mock returns null.
    @Nullable String own = service.serviceId();
    if (own != null && !own.equals(this.serviceId) && !own.equals(UNNAMED)) {
      throw ListedPart.invalid(
          this.listed.stream().map(ListedPart::name).toList(),
          "the election is '%s', but serviceId() of bean '%s' is '%s': all parts must mean the same election; let it return '%s', or set as.election.service-id=%s"
              .formatted(this.serviceId, part.name(), own, this.serviceId, own));
    }
    return (serviceId) -> {
      warnOfAnotherNodeId(part.name(), service);
      return service;
    };
  }

  /** Warns of a service that calls this node otherwise than the election does. */
  private void warnOfAnotherNodeId(String name, ElectionService service) {
    String nodeId = this.node.id();
    String unnamed = Long.toString(ProcessHandle.current().pid());
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
      // It decides nothing.
      log.warn(
          "part '{}' of the election cannot tell its node id: {}; let nodeId() return {}",
          name,
          ex.toString(),
          nodeId);
    }
  }
}
