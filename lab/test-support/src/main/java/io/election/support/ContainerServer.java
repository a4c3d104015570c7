package io.election.support;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.ContainerNetwork;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.JdbcDatabaseContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.mariadb.MariaDBContainer;

/** A server in a container. */
final class ContainerServer extends TestServer {

  private static final int DATABASE_PORT = 3306;

  private static final String DATA = "/var/lib/mysql";

  private final JdbcDatabaseContainer<?> container;
  private final Product product;

  private ContainerServer(JdbcDatabaseContainer<?> container, Product product, int port) {
    super(port);
    this.container = container;
    this.product = product;
  }

  static TestServer launch(DatabaseImage image) {
    return launch(image, (container) -> {});
  }

  /** Starts a server whose data are on an in-memory disk of the given size. */
  static TestServer launch(DatabaseImage image, int megabytes) {
    return launch(
        image, (container) -> container.withTmpFs(Map.of(DATA, "rw,size=" + megabytes + "m")));
  }

  /** Starts a server with its own wall clock. */
  static TestServer launch(DatabaseImage image, FakeClock clock, String timeZone) {
    Path library = Path.of("/faketime/library");
    Path folder = Path.of("/faketime/clock");
    return launch(
        image,
        (container) -> container
            .withFileSystemBind(clock.library().toString(), library.toString(), BindMode.READ_ONLY)
            .withFileSystemBind(clock.folder().toString(), folder.toString(), BindMode.READ_ONLY)
            .withEnv(FakeClock.environment(library, folder))
            .withEnv("TZ", timeZone)
            // The user must not change: libfaketime shares memory with the processes that it
            // starts.
            .withCreateContainerCmdModifier((command) -> command.withUser("999:999"))
            .withCommand(
                "--socket=/tmp/mysqld.sock", "--pid-file=/tmp/mysqld.pid", "--mysqlx=OFF"));
  }

  static ContainerServer launch(DatabaseImage image, Consumer<JdbcDatabaseContainer<?>> setUp) {
    Assumptions.assumeTrue(hasDocker(), () -> "no Docker for " + image.imageName());
    int port = freePort();
    ContainerServer server = new ContainerServer(container(image), image.product(), port);
    // Docker assigns another port to a restarted container unless the port is fixed.
    server.container.setPortBindings(List.of("127.0.0.1:" + port + ":" + DATABASE_PORT));
    setUp.accept(server.container);
    try {
      server.container.start();
    } catch (ContainerFetchException | ContainerLaunchException ex) {
      boolean isMissing =
          ex instanceof ContainerFetchException || ex.getCause() instanceof ContainerFetchException;
      Assumptions.assumeFalse(isMissing, "no image " + image.imageName());
      throw ex;
    }
    return server;
  }

  @SuppressWarnings("resource") // closed by the server
  private static JdbcDatabaseContainer<?> container(DatabaseImage image) {
    JdbcDatabaseContainer<?> container = image.product() == Product.MARIADB
        ? new MariaDBContainer(image.imageName())
        : image.mysql();
    return container.withUsername("app").withPassword(ROOT_PASSWORD);
  }

  @Override
  public Product product() {
    return this.product;
  }

  @Override
  public void pause() {
    docker().pauseContainerCmd(id()).exec();
  }

  @Override
  public void resume() {
    docker().unpauseContainerCmd(id()).exec();
  }

  @Override
  public void stop() {
    docker().stopContainerCmd(id()).withTimeout(30).exec();
  }

  @Override
  public void kill() {
    docker().killContainerCmd(id()).exec();
  }

  @Override
  public void start() {
    docker().startContainerCmd(id()).exec();
    awaitAnswer();
  }

  @Override
  public void close() {
    this.container.stop();
  }

  @Override
  public void fillDisk() {
    // The last bytes are written one by one: dd must end with an error.
    run(
        "cd " + DATA
            + "; dd if=/dev/zero of=ballast bs=64k; dd if=/dev/zero of=ballast2 bs=1 count=100000; test -s ballast");
  }

  @Override
  public void freeDisk() {
    run("rm " + DATA + "/ballast*");
  }

  private void run(String script) {
    try {
      ExecResult result = this.container.execInContainer("sh", "-c", script);
      if (result.getExitCode() != 0) {
        throw new IllegalStateException(script + ": " + result.getStderr());
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  /** Whether the server was not stopped, killed or paused. */
  boolean isRunning() {
    var state = docker().inspectContainerCmd(id()).exec().getState();
    return Boolean.TRUE.equals(state.getRunning()) && !Boolean.TRUE.equals(state.getPaused());
  }

  /** Undoes a stop, a kill or a pause. */
  void revive() {
    var state = docker().inspectContainerCmd(id()).exec().getState();
    if (Boolean.TRUE.equals(state.getPaused())) {
      resume();
    } else if (!Boolean.TRUE.equals(state.getRunning())) {
      start();
    }
  }

  /** Joins a network, in addition to the one of the port on the host. */
  void connect(Network network, String alias) {
    docker()
        .connectToNetworkCmd()
        .withNetworkId(network.getId())
        .withContainerId(id())
        .withContainerNetwork(new ContainerNetwork().withAliases(alias))
        .exec();
  }

  /** Leaves a network: packets through it are dropped without notice to either side. */
  void disconnect(Network network) {
    docker()
        .disconnectFromNetworkCmd()
        .withNetworkId(network.getId())
        .withContainerId(id())
        .withForce(true)
        .exec();
  }

  private String id() {
    return this.container.getContainerId();
  }

  private static DockerClient docker() {
    return DockerClientFactory.instance().client();
  }
}
