package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.core.test.tools.SourceFile;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.util.ClassUtils;

/** Examples that readers copy work: Java compiles with the imports that it shows, commands run. */
class DocumentationTest {

  private static final Path ROOT = Path.of("..");

  private static final Pattern BLOCK =
      Pattern.compile("(?m)^```(\\w*)\\n(.*?)^```$", Pattern.DOTALL);

  private static final Pattern INLINE =
      Pattern.compile("(?<!`)`((?:mvn|curl|java) [^`\\n]+)`(?!`)");

  /** {@code MODULE} stands for any. */
  private static final Pattern MODULE = Pattern.compile("(?: -pl |\\G,)(?!MODULE )([^ ,]+)");

  private static final Pattern COMMAND = Pattern.compile("(?:\\$ )?((?:mvn|curl|java|kubectl) .*)");

  /**
   * The classes that a reader's own project has: all but {@code io.election}, which the examples
   * import.
   */
  private static final String IMPORTS = """
      import static org.awaitility.Awaitility.await;

      import java.sql.Connection;
      import java.time.Duration;
      import java.util.List;
      import java.util.concurrent.TimeUnit;
      import org.apache.curator.framework.CuratorFramework;
      import org.apache.curator.framework.recipes.leader.LeaderLatch;
      import org.apache.curator.utils.CloseableUtils;
      import org.apache.zookeeper.Op;
      import org.jspecify.annotations.Nullable;
      import org.junit.jupiter.api.Test;
      import org.slf4j.LoggerFactory;
      import org.springframework.beans.factory.annotation.Autowired;
      import org.springframework.beans.factory.annotation.Qualifier;
      import org.springframework.boot.test.context.SpringBootTest;
      import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
      import org.springframework.context.ApplicationEventPublisher;
      import org.springframework.context.annotation.Bean;
      import org.springframework.context.event.EventListener;
      import org.springframework.scheduling.annotation.Scheduled;
      import org.springframework.stereotype.Component;
      import org.testcontainers.junit.jupiter.Container;
      import org.testcontainers.junit.jupiter.Testcontainers;
      import org.testcontainers.mysql.MySQLContainer;
      """;

  /** The application that surrounds the examples. */
  private static final String PROJECT = """
      package example;

      class Project {
        io.election.ElectionService election;
        io.election.jdbc.CommitFence commitFence;
        io.election.zookeeper.ZookeeperFence fence;
        io.election.etcd.EtcdFence etcdFence;
        java.sql.Connection connection;
        javax.sql.DataSource dataSource;
        org.apache.zookeeper.ZooKeeper client;
        String password;
        byte[] result;
        java.util.List<io.election.LeadershipEvent> events;
        record Invoice() {}
        record Batch(java.time.Duration timeout) {}
        record Replica(String position) {
          boolean isAsFarAs(String position) { return true; }
        }
        static class Poller implements org.springframework.context.Lifecycle {
          public void start() {}
          public void stop() {}
          public boolean isRunning() { return false; }
        }
        interface Feed {
          AutoCloseable subscribe(java.util.function.Consumer<String> consumer);
        }
        void handle(String message) {}
        static class ReportJob { void writeReport() {} }
        java.util.List<Invoice> due() { return java.util.List.of(); }
        void send(Invoice invoice, long term) {}
        void upload(Batch batch) {}
      }
      """;

  static Stream<Path> pagesWithJava() throws IOException {
    return pages()
        .filter((page) -> !page.toString().matches(".*/mysql-failover/.*"))
        .filter((page) -> !blocks(page, "java").isEmpty());
  }

  @ParameterizedTest
  @MethodSource("pagesWithJava")
  void javaCompiles(Path page) throws IOException {
    List<SourceFile> sources = new ArrayList<>();
    sources.add(SourceFile.of(PROJECT));
    for (String library : List.of(
        "org.springframework.boot.testcontainers.service.connection.ServiceConnection",
        "org.testcontainers.junit.jupiter.Container",
        "org.testcontainers.junit.jupiter.Testcontainers")) {
      sources.add(SourceFile.of("package %s; public @interface %s {}"
          .formatted( // not on the class path of this module
              ClassUtils.getPackageName(library), ClassUtils.getShortName(library))));
    }
    List<String> blocks = blocks(page, "java");
    for (int i = 0; i < blocks.size(); i++) {
      String block = blocks.get(i);
      boolean program = block.startsWith("package ");
      sources.add(SourceFile.of(program ? block : unit("Example" + i, block)));
    }
    TestCompiler.forSystem().withSources(sources).compile((compiled) -> {});
  }

  static Stream<Path> pages() throws IOException {
    try (Stream<Path> docs = Files.list(ROOT.resolve("docs"));
        Stream<Path> top = Files.list(ROOT);
        Stream<Path> failover = Files.list(ROOT.resolve("mysql-failover"))) {
      return Stream.of(docs, top, failover)
          .flatMap((paths) -> paths)
          .filter((path) -> path.toString().endsWith(".md"))
          .sorted()
          .toList()
          .stream();
    }
  }

  /** An unquoted {@code ?}, {@code *} or {@code [} is a pattern. zsh rejects it if no file matches. */
  @ParameterizedTest
  @MethodSource("pages")
  void commandsHaveNoPatterns(Path page) throws IOException {
    for (String command : commands(page)) {
      assertThat(command.replaceAll("'[^']*'|\"[^\"]*\"", ""))
          .as("unquoted: %s", command)
          .doesNotContainPattern("[?*\\[]");
    }
  }

  @ParameterizedTest
  @MethodSource("pages")
  void commandsNameModulesByTheirFolders(Path page) throws IOException {
    for (String command : commands(page)) {
      assertThat(MODULE.matcher(command).results().map((found) -> found.group(1)))
          .as(command)
          .allSatisfy((module) -> assertThat(ROOT.resolve(module + "/pom.xml")).exists());
    }
  }

  @Test
  void commandsRunInZsh() throws Exception {
    assumeTrue(hasZsh(), "no zsh");
    for (Path page : pages().toList()) {
      for (String command : commands(page)) {
        assertThat(runInZsh(command)).as("%s: %s", page, command).isEmpty();
      }
    }
  }

  private static boolean hasZsh() {
    return Stream.of(System.getenv("PATH").split(java.io.File.pathSeparator))
        .anyMatch((folder) -> Files.isExecutable(Path.of(folder, "zsh")));
  }

  /** Runs a command with its programs replaced by stubs. Returns what zsh prints. */
  private static String runInZsh(String command) throws Exception {
    String script = "mvn() { : }; curl() { : }; java() { : }; kubectl() { : }\n" + command + "\n";
    Process zsh =
        new ProcessBuilder("zsh", "-f", "-c", script).redirectErrorStream(true).start();
    String said =
        new String(zsh.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    assertThat(zsh.waitFor(1, TimeUnit.MINUTES)).isTrue();
    return zsh.exitValue() == 0 ? "" : said + " (exit " + zsh.exitValue() + ")";
  }

  static String text(Path page) {
    try {
      return Files.readString(page);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  static List<String> commands(Path page) {
    String text = text(page);
    Stream<String> blocks = BLOCK
        .matcher(text)
        .results()
        .filter((block) -> block.group(1).isEmpty())
        .flatMap((block) -> block.group(2).lines())
        .map(COMMAND::matcher)
        .filter(Matcher::matches)
        .map((line) -> line.group(1));
    Stream<String> inline = INLINE.matcher(text).results().map((result) -> result.group(1));
    return Stream.concat(blocks, inline).toList();
  }

  private static List<String> blocks(Path page, String language) {
    return BLOCK
        .matcher(text(page))
        .results()
        .filter((block) -> block.group(1).equals(language))
        .map((block) -> block.group(2))
        .filter(
            (block) -> !block.contains("HttpSecurity")) // compiled and run by the sample's tests
        .toList();
  }

  private static String unit(String name, String block) {
    String imports = block
        .lines()
        .filter((line) -> line.startsWith("import "))
        .collect(Collectors.joining("\n"));
    String code = block
        .lines()
        .filter((line) -> !line.startsWith("import ") && !line.strip().equals("…"))
        .map((line) -> line.replace("{ … }", "{}"))
        .collect(Collectors.joining("\n"))
        .strip();
    String body;
    if (Pattern.compile("(?m)^class \\w+ ").matcher(code).find()) {
      body = code.replaceFirst("(?m)^class (\\w+) \\{", "static class $1 extends Project {");
    } else if (code.startsWith("@")) {
      body = code;
    } else {
      body = "void example() throws Exception {\n" + code + "\n}";
    }
    return "package example;\n" + IMPORTS + imports + "\nclass " + name + " extends Project {\n"
        + body + "\n}\n";
  }
}
