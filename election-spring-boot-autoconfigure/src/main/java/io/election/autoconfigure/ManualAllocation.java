package io.election.autoconfigure;

import io.election.LeadershipEvent;
import io.election.ManualAllocationElectionService;
import io.election.Names;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.LocalNode;
import java.time.InstantSource;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/** Creates elections whose leader the configuration names. Used within the auto-configuration. */
public final class ManualAllocation {

  private static final String LEADER_ID = "as.election.manual.leader-id";

  private final String leaderId;

  private final LocalNode node;

  /**
   * Reads the leader.
   *
   * @throws InvalidConfigurationPropertyValueException if it is missing or cannot be used
   */
  public ManualAllocation(ElectionProperties properties, LocalNode node) {
    this.leaderId = requireLeaderId(properties.manual().leaderId());
    this.node = node;
  }

  private static String requireLeaderId(@Nullable String leaderId) {
    String remedy =
        "write the node id, host:port, host name or IP address of the node that should lead, the same on all nodes";
    if (leaderId == null) {
      throw new InvalidConfigurationPropertyValueException(
          LEADER_ID, null, "as.election.algorithm=ManualAllocation needs it; " + remedy);
    }
    String problem = Names.problem(leaderId);
    if (problem != null) {
      throw new InvalidConfigurationPropertyValueException(
          LEADER_ID, leaderId, "it " + problem + "; " + remedy);
    }
    return leaderId;
  }

  /**
   * Creates the service of an election, which is not started.
   *
   * @param serviceId the name of the election
   * @param listener receives its events
   */
  public ManualAllocationElectionService service(
      String serviceId, Consumer<LeadershipEvent> listener) {
    return new ManualAllocationElectionService(
        serviceId,
        this.leaderId,
        this.node::id,
        this.node::isMeantBy,
        listener,
        InstantSource.system());
  }
}
