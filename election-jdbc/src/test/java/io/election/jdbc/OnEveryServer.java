package io.election.jdbc;

import io.election.support.DatabaseImage;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestServer;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Arrays;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.BeforeClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * Runs a class on every server: on the default one of each product in each build, with {@code
 * -Pfaults} on the oldest ones, and with {@code -Plong} on all. Its parameter is a {@link Server};
 * one that is not available is skipped by name.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("servers")
@ParameterizedClass(name = "{0}", allowZeroInvocations = true)
@ArgumentsSource(OnEveryServer.Servers.class)
@ExtendWith(OnEveryServer.Start.class)
@interface OnEveryServer {

  /** Whether the class runs on MySQL and MariaDB. */
  boolean mysql() default true;

  /** Whether the class runs on PostgreSQL. */
  boolean postgresql() default false;

  /** Whether the class runs on releases, too, that our code tells from no other. */
  boolean alike() default false;

  enum Server {
    /** The newest MySQL, or the embedded MariaDB where there is no Docker. */
    DEFAULT(
        TestServer.hasDocker() ? DatabaseImage.MYSQL_9_7.imageName() : "embedded MariaDB",
        TestServer::shared),
    OLDEST_MYSQL(DatabaseImage.MYSQL_8_0),
    NEWEST_MARIADB(DatabaseImage.MARIADB_11_8),
    OLDEST_MARIADB(DatabaseImage.MARIADB_10_11),
    NEWEST_POSTGRESQL(PostgresqlPrograms.V18),
    POSTGRESQL_17(PostgresqlPrograms.V17),
    OLDEST_POSTGRESQL(PostgresqlPrograms.V15);

    private final String label;
    private final Supplier<TestServer> running;

    Server(DatabaseImage image) {
      this(image.imageName(), () -> TestServer.shared(image));
    }

    Server(PostgresqlPrograms release) {
      this(release.toString(), () -> TestServer.shared(release));
    }

    Server(String label, Supplier<TestServer> running) {
      this.label = label;
      this.running = running;
    }

    /** The servers that {@code election.test.servers} selects. */
    static Stream<Server> ofThisRun() {
      String which = System.getProperty("election.test.servers", "default");
      return Arrays.stream(values()).filter((server) -> switch (which) {
        case "default" -> server.isDefault();
        case "oldest" -> !server.isDefault() && !server.isAlike();
        case "all" -> true;
        case "postgresql" -> server == NEWEST_POSTGRESQL;
        case "postgresql-all" -> server.isPostgresql();
        default -> throw new IllegalArgumentException("election.test.servers=" + which);
      });
    }

    private boolean isDefault() {
      return this == DEFAULT || this == NEWEST_POSTGRESQL;
    }

    /** Whether our code treats the server as it does another one of the product. */
    private boolean isAlike() {
      return this == NEWEST_MARIADB || this == POSTGRESQL_17;
    }

    private boolean isPostgresql() {
      return compareTo(NEWEST_POSTGRESQL) >= 0;
    }

    TestServer running() {
      return this.running.get();
    }

    @Override
    public String toString() {
      return this.label;
    }
  }

  /** Provides the servers of this run on which a class runs. */
  final class Servers implements ArgumentsProvider {

    @Override
    public Stream<Arguments> provideArguments(
        ParameterDeclarations parameters, ExtensionContext context) {
      OnEveryServer on = context.getRequiredTestClass().getAnnotation(OnEveryServer.class);
      return Server.ofThisRun()
          .filter((server) -> server.isPostgresql() ? on.postgresql() : on.mysql())
          .filter((server) -> on.alike() || !server.isAlike())
          .map(Arguments::of);
    }
  }

  /** Skips a server that is not available, and names the servers in reports. */
  final class Start
      implements BeforeClassTemplateInvocationCallback, TestExecutionExceptionHandler {

    @Override
    public void beforeClassTemplateInvocation(ExtensionContext context) {
      System.out.println(context.getUniqueId() + " is " + on(context));
      Server.ofThisRun()
          .filter((server) -> server.toString().equals(context.getDisplayName()))
          .forEach(Server::running);
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure)
        throws Throwable {
      failure.addSuppressed(new Exception("in " + on(context)));
      throw failure;
    }

    private static String on(ExtensionContext context) {
      return context.getParent().map((parent) -> on(parent) + ", ").orElse("")
          + context.getDisplayName();
    }
  }
}
