package io.election.test.process;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A process to start.
 *
 * @param name the name of the process; unique in its cluster
 * @param program its main class; must write a {@link LeadershipLog} to the path in
 *     {@code --test.claims}
 * @param properties its arguments, for example {@code as.election.node-id=a}, without the dashes
 * @param jvmOptions in addition to and after those of all processes
 * @param environment in addition to that of this process
 * @param prefix the beginning of the command line, for example a program that starts the JVM
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
   * @param program its main class
   */
  public Node(String name, Class<?> program) {
    this(name, program, List.of(), List.of(), Map.of(), List.of());
  }

  /**
   * Returns a copy with another name and the same properties.
   *
   * @param process the other name
   * @return the copy
   */
  public Node called(String process) {
    return new Node(
        process, this.program, this.properties, this.jvmOptions, this.environment, this.prefix);
  }

  /**
   * Returns a copy with an additional property; if a name occurs twice, the last one applies.
   *
   * @param property name and value
   * @return the copy
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
   * Returns a copy whose database is behind a proxy.
   *
   * @param proxy a proxy to the database
   * @return the copy
   */
  public Node through(TcpProxy proxy) {
    return with("spring.datasource.url=" + proxy.jdbcUrl());
  }

  /**
   * Returns a copy with an additional option of its JVM.
   *
   * @param option the option
   * @return the copy
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
   * Returns a copy with an environment variable.
   *
   * @param variable its name
   * @param value its value
   * @return the copy
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
   * Returns a copy that a program starts.
   *
   * @param prefix the program and its arguments
   * @return the copy
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
   * Returns a copy with another main class.
   *
   * @param program the main class
   * @return the copy
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
