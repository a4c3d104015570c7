package io.election.support.process;

import java.util.List;
import java.util.stream.Stream;

/**
 * A process to start.
 *
 * @param name the name of the process; unique in its cluster
 * @param program its main class; must write a {@link LeadershipLog} to the path in
 *     {@code --test.claims}
 * @param properties its arguments, for example {@code as.election.node-id=a}, without the dashes; passwords
 *     are passed in the environment
 * @param jvmOptions in addition to and after those of all processes
 * @param prefix the beginning of the command line, for example a program that starts the JVM
 */
public record Node(
    String name,
    Class<?> program,
    List<String> properties,
    List<String> jvmOptions,
    List<String> prefix) {

  public Node(String name, Class<?> program) {
    this(name, program, List.of(), List.of(), List.of());
  }

  public Node called(String name) {
    return new Node(name, this.program, this.properties, this.jvmOptions, this.prefix);
  }

  public Node running(Class<?> program) {
    return new Node(this.name, program, this.properties, this.jvmOptions, this.prefix);
  }

  /** Returns a copy with one more property; if a name occurs twice, the last one applies. */
  public Node with(String property) {
    List<String> more = and(this.properties, List.of(property));
    return new Node(this.name, this.program, more, this.jvmOptions, this.prefix);
  }

  public Node through(TcpProxy proxy) {
    return with("spring.datasource.url=" + proxy.jdbcUrl());
  }

  public Node withJvmOption(String option) {
    return withJvmOptions(List.of(option));
  }

  public Node withJvmOptions(List<String> options) {
    List<String> more = and(this.jvmOptions, options);
    return new Node(this.name, this.program, this.properties, more, this.prefix);
  }

  /** Returns a copy that a program with some arguments starts. */
  public Node startedBy(String... prefix) {
    List<String> program = List.of(prefix);
    return new Node(this.name, this.program, this.properties, this.jvmOptions, program);
  }

  private static List<String> and(List<String> list, List<String> more) {
    return Stream.concat(list.stream(), more.stream()).toList();
  }
}
