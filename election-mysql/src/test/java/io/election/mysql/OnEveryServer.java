package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Arrays;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
 * Runs a class on every supported server: on the default server in each build, and on the others
 * with {@code -Pfaults}. That profile also runs the tests with the tag {@code faults} on the
 * default server. The class has a {@link Server} as its parameter. A server that is not available
 * is reported as skipped, with its name.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("servers")
@ParameterizedClass(name = "{0}")
@ArgumentsSource(OnEveryServer.Servers.class)
@ExtendWith(OnEveryServer.Start.class)
@interface OnEveryServer {

  /** A server for all classes of a JVM. */
  enum Server {
    /** The newest MySQL, or the embedded MariaDB where there is no Docker. */
    DEFAULT(
        TestServer.hasDocker() ? DatabaseImage.MYSQL_9_7.imageName() : "embedded MariaDB",
        TestServer::shared),
    OLDEST_MYSQL(DatabaseImage.MYSQL_8_0),
    NEWEST_MARIADB(DatabaseImage.MARIADB_11_8),
    OLDEST_MARIADB(DatabaseImage.MARIADB_10_11);

    private final String label;
    private final Supplier<TestServer> running;

    Server(DatabaseImage image) {
      this(image.imageName(), () -> TestServer.shared(image));
    }

    Server(String label, Supplier<TestServer> running) {
      this.label = label;
      this.running = running;
    }

    /** The running server; aborts the test if it is not available. */
    TestServer running() {
      return this.running.get();
    }

    @Override
    public String toString() {
      return this.label;
    }
  }

  /**
   * The servers of this run, by {@code election.test.servers}: {@code default}, {@code others} or
   * {@code all}.
   */
  final class Servers implements ArgumentsProvider {

    @Override
    public Stream<? extends Arguments> provideArguments(
        ParameterDeclarations parameters, ExtensionContext context) {
      String which = context.getConfigurationParameter("election.test.servers").orElse("default");
      return servers(which, context.getRequiredTestClass()).map(Arguments::of);
    }

    private static Stream<Server> servers(String which, Class<?> type) {
      return switch (which) {
        case "default" -> Stream.of(Server.DEFAULT);
        case "others" ->
          Arrays.stream(Server.values())
              .filter(server -> server != Server.DEFAULT || hasFaults(type));
        case "all" -> Arrays.stream(Server.values());
        default -> throw new IllegalArgumentException("election.test.servers=" + which);
      };
    }

    /** Whether a part of the class is left out of the default run. */
    private static boolean hasFaults(Class<?> type) {
      return Stream.concat(
              Arrays.stream(type.getDeclaredMethods()), Arrays.stream(type.getDeclaredClasses()))
          .flatMap(part -> Arrays.stream(part.getAnnotationsByType(Tag.class)))
          .map(Tag::value)
          .anyMatch("faults"::equals);
    }
  }

  /**
   * Skips the tests of a server that is not available, and names the servers in reports, which only
   * number them.
   */
  final class Start
      implements BeforeClassTemplateInvocationCallback, TestExecutionExceptionHandler {

    private static final Pattern NUMBER = Pattern.compile("class-template-invocation:#(\\d+)]$");

    @Override
    public void beforeClassTemplateInvocation(ExtensionContext context) {
      System.out.println(on(context));
      Arrays.stream(Server.values())
          .filter(server -> server.toString().equals(context.getDisplayName()))
          .forEach(Server::running);
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure)
        throws Throwable {
      failure.addSuppressed(new Exception(on(context)));
      throw failure;
    }

    private static String on(ExtensionContext context) {
      Matcher number = NUMBER.matcher(context.getUniqueId());
      return number.find()
          ? "%s[%s] is on %s"
              .formatted(
                  context.getRequiredTestClass().getSimpleName(),
                  number.group(1),
                  context.getDisplayName())
          : context.getParent().map(Start::on).orElse("");
    }
  }
}
