package io.election.autoconfigure.actuate;

import io.election.autoconfigure.Elections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Names this node and the leaders that it knows. Does not call the store. */
final class ElectionInfoContributor implements InfoContributor {

  private final Elections elections;

  ElectionInfoContributor(Elections elections) {
    this.elections = elections;
  }

  @Override
  public void contribute(Info.Builder builder) {
    Map<String, Object> leaders = new LinkedHashMap<>();
    this.elections
        .all()
        .forEach((name, service) -> leaders.put(name, service.leaderId().orElse("")));
    Map<String, Object> election = new LinkedHashMap<>();
    this.elections.all().values().stream()
        .findFirst()
        .ifPresent((first) -> election.put("nodeId", first.nodeId()));
    election.put("leaders", leaders);
    builder.withDetail("election", election);
  }
}
