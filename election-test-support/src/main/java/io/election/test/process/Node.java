package io.election.test.process;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A process to start.
 *
 * @param name names the process; unique in its cluster
 * @param program what runs in it; has to write a {@link LeadershipLog} where {@code --test.claims}
 *     says
 * @param properties its arguments, for instance {@code as.election.node-id=a}, without the dashes
 * @param jvmOptions beyond and after those of all processes
 * @param environment beyond that of this process
 * @param prefix what the command line begins with, for instance a program that starts the JVM
 */
public record Node(
    String name,
    Class<?> program,
    List<String> properties,
    List<String> jvmOptions,
    Map<String, String> environment,
    List<String> prefix) {

  /**
   * Describes a process.
   *
   * @param name its name
   * @param program what runs in it
   */
  public Node(String name, Class<?> program) {
    this(name, program, List.of(), List.of(), Map.of(), List.of());
  }

  /**
   * The same, its properties included, as another process.
   *
   * @param process the other name
   * @return the other process
   */
  public Node called(String process) {
    return new Node(
        process, this.program, this.properties, this.jvmOptions, this.environment, this.prefix);
  }

  /**
   * The same with a property; the last one of a name counts.
   *
   * @param property name and value
   * @return the changed process
   */
  public Node with(String property) {
    return new Node(
        this.name,
        this.program,
        and(this.properties, property),
        this.jvmOptions,
        this.environment,
        this.prefix);
  }

  /**
   * The same with its database behind a proxy.
   *
   * @param proxy leads to the database
   * @return the changed process
   */
  public Node through(TcpProxy proxy) {
    return with("spring.datasource.url=" + proxy.jdbcUrl());
  }

  /**
   * The same with an option of its JVM.
   *
   * @param option the option
   * @return the changed process
   */
  public Node withJvmOption(String option) {
    return new Node(
        this.name,
        this.program,
        this.properties,
        and(this.jvmOptions, option),
        this.environment,
        this.prefix);
  }

  /**
   * The same with an environment variable.
   *
   * @param variable its name
   * @param value its value
   * @return the changed process
   */
  public Node withEnvironment(String variable, String value) {
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

  /**
   * The same, started by a program.
   *
   * @param prefix the program and its arguments
   * @return the changed process
   */
  public Node startedBy(String... prefix) {
    return new Node(
        this.name,
        this.program,
        this.properties,
        this.jvmOptions,
        this.environment,
        List.of(prefix));
  }

  /**
   * The same with another program.
   *
   * @param program the program
   * @return the changed process
   */
  public Node running(Class<?> program) {
    return new Node(
        this.name, program, this.properties, this.jvmOptions, this.environment, this.prefix);
  }

  private static List<String> and(List<String> list, String more) {
    List<String> all = new ArrayList<>(list);
    all.add(more);
    return List.copyOf(all);
  }
}
