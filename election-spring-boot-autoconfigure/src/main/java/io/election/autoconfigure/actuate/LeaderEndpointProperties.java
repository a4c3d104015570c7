package io.election.autoconfigure.actuate;

import java.util.Set;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the leader endpoint.
 *
 * @param showDetails When to show details: operators' names and reasons, pauses, candidates, members
 *     and the history. Who leads which election, and since when, is always shown.
 * @param roles Roles whose users are authorized to see details. When empty, all authenticated users
 *     are authorized.
 */
@ConfigurationProperties("management.endpoint.leader")
record LeaderEndpointProperties(
    @DefaultValue("when-authorized") Show showDetails,
    @DefaultValue Set<String> roles) {}
