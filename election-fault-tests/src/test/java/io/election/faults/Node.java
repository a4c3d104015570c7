package io.election.faults;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A process to start.
 *
 * @param name names the process in the test; unique in its cluster
 * @param program what runs in it; has to write a {@link ClaimFile} where {@code --test.claims} says
 * @param properties beyond and before those of the cluster, for instance {@code
 *     as.election.node-id=a}
 * @param jvmOptions beyond and after those of all processes
 * @param environment beyond that of the test
 * @param prefix what the command line begins with, for instance a program that starts the JVM
 */
record Node(
    String name,
    Class<?> program,
    List<String> properties,
    List<String> jvmOptions,
    Map<String, String> environment,
    List<String> prefix) {

  /** A {@link SamplingNode} whose node id is its name. */
  static Node named(String name) {
    return new Node(name, SamplingNode.class, List.of(), List.of(), Map.of(), List.of())
        .with("as.election.node-id=" + name);
  }

  /** The same, its node id included, as another process. */
  Node called(String process) {
    return new Node(
        process, this.program, this.properties, this.jvmOptions, this.environment, this.prefix);
  }

  /** The same with a property; the last one of a name counts. */
  Node with(String property) {
    return new Node(
        this.name,
        this.program,
        and(this.properties, property),
        this.jvmOptions,
        this.environment,
        this.prefix);
  }

  /** The same with its database behind a link. */
  Node through(Link link) {
    return with("spring.datasource.url=" + link.jdbcUrl());
  }

  Node withJvmOption(String option) {
    return new Node(
        this.name,
        this.program,
        this.properties,
        and(this.jvmOptions, option),
        this.environment,
        this.prefix);
  }

  Node withEnvironment(String variable, String value) {
    Map<String, String> environment = new HashMap<>(this.environment);
    environment.put(variable, value);
    return new Node(
        this.name,
        this.program,
        this.properties,
        this.jvmOptions,
        Map.copyOf(environment),
        this.prefix);
  }

  Node startedBy(String... prefix) {
    return new Node(
        this.name,
        this.program,
        this.properties,
        this.jvmOptions,
        this.environment,
        List.of(prefix));
  }

  Node running(Class<?> program) {
    return new Node(
        this.name, program, this.properties, this.jvmOptions, this.environment, this.prefix);
  }

  private static List<String> and(List<String> list, String more) {
    List<String> all = new ArrayList<>(list);
    all.add(more);
    return List.copyOf(all);
  }
}
