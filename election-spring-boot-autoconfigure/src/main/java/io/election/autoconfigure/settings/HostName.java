package io.election.autoconfigure.settings;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The name of this host: on Linux as the kernel knows it, which needs no network and follows a
 * restore from a checkpoint; elsewhere as the name service told it once, if it did so in time.
 * Thread-safe.
 */
final class HostName {

  /** That of this process. */
  static final HostName LOCAL = new HostName(
      Path.of("/proc/sys/kernel/hostname"),
      () -> InetAddress.getLocalHost().getHostName(),
      Duration.ofSeconds(1));

  private static final Logger log = LoggerFactory.getLogger(HostName.class);

  private final Path kernel;

  private final Callable<String> nameService;

  private final Duration patience;

  private @Nullable String told;

  /**
   * Creates the name, which is looked up when it is requested.
   *
   * @param kernel the file with the name; missing where the system is not Linux
   * @param nameService asked once if there is no such file; may block
   * @param patience how long to wait for that answer
   */
  HostName(Path kernel, Callable<String> nameService, Duration patience) {
    this.kernel = kernel;
    this.nameService = nameService;
    this.patience = patience;
  }

  /** Returns the name; waits for the name service at most once, and at most as long as was given. */
  String get() {
    String known = ofKernel();
    return known != null ? known : told();
  }

  /** Returns the name without the name service, {@code localhost} if the system does not tell it. */
  String unasked() {
    String known = ofKernel();
    return known != null ? known : ofEnvironment("localhost");
  }

  private @Nullable String ofKernel() {
    try {
      String name = Files.readString(this.kernel).strip();
      return name.isEmpty() || name.equals("(none)") ? null : name;
    } catch (IOException ex) {
      return null;
    }
  }

  private static String ofEnvironment(String otherwise) {
    String name = System.getenv().getOrDefault("HOSTNAME", System.getenv("COMPUTERNAME"));
    return name == null || name.isBlank() ? otherwise : name;
  }

  private synchronized String told() {
    String told = this.told;
    if (told == null) {
      told = ask();
      this.told = told;
    }
    return told;
  }

  private String ask() {
    FutureTask<String> question = new FutureTask<>(this.nameService);
    Thread thread = new Thread(question, "election-host-name");
    thread.setDaemon(true);
    thread.start();
    String problem;
    try {
      return question.get(this.patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException ex) {
      problem = "no answer within " + this.patience.toMillis() + " ms";
    } catch (ExecutionException ex) {
      problem = String.valueOf(ex.getCause());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      problem = "interrupted";
    }
    String name = ofEnvironment("host-" + HexFormat.of().toHexDigits(new SecureRandom().nextInt()));
    log.warn(
        "The name of this host could not be looked up ({}): the node id begins with '{}'. Set as.election.node-id to have another",
        problem,
        name);
    return name;
  }
}
