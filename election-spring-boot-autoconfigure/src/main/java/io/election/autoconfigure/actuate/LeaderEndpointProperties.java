package io.election.autoconfigure.actuate;

import java.util.Set;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the leader endpoint.
 *
 * @param showDetails When to show more than who leads which election since when: operators' names and
 *     reasons, pauses, and the history.
 * @param roles Roles whose users are authorized to see details. When empty, all users who have logged
 *     in are.
 */
@ConfigurationProperties("management.endpoint.leader")
record LeaderEndpointProperties(
    @DefaultValue("when-authorized") Show showDetails,
    @DefaultValue Set<String> roles) {}
