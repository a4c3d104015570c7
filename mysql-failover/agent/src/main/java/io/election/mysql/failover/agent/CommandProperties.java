package io.election.mysql.failover.agent;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the commands for operators.
 *
 * @param tokenFile File with the bearer token of the commands, at least 16 characters. Without it,
 *     the agent accepts no commands.
 * @param address Address at which commands are accepted.
 * @param port Port at which commands are accepted.
 */
@ConfigurationProperties("as.failover.commands")
record CommandProperties(
    @Nullable Path tokenFile,
    @DefaultValue("127.0.0.1") String address,
    @DefaultValue("8081") int port) {}
