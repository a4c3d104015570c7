package io.election.sample;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** The security configuration that the docs show, compiled from the docs. */
final class DocumentedSecurity {

  private static final Path PAGE = Path.of("..", "docs", "endpoint.md");

  /** The only example with a chain of filters. */
  private static final Pattern EXAMPLE =
      Pattern.compile("(?s)```java\n((?:(?!```).)*SecurityFilterChain(?:(?!```).)*)```");

  private static final String SOURCE = """
      import org.springframework.boot.actuate.endpoint.EndpointId;
      import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
      import org.springframework.boot.security.autoconfigure.actuate.web.servlet.EndpointRequest;
      import org.springframework.context.annotation.Bean;
      import org.springframework.core.annotation.Order;
      import org.springframework.http.HttpMethod;
      import org.springframework.security.config.Customizer;
      import org.springframework.security.config.annotation.web.builders.HttpSecurity;
      import org.springframework.security.web.SecurityFilterChain;

      public class Documented {

      %s
      }
      """;

  private DocumentedSecurity() {}

  /** Returns a class with the beans of the example. */
  static Class<?> compile() throws Exception {
    List<String> examples = EXAMPLE
        .matcher(Files.readString(PAGE))
        .results()
        .map((example) -> example.group(1))
        .toList();
    if (examples.size() != 1) {
      throw new AssertionError("examples with a SecurityFilterChain: " + examples);
    }
    Path folder = Files.createTempDirectory(Path.of("target"), "documented");
    Path source = folder.resolve("Documented.java");
    Files.writeString(source, SOURCE.replaceFirst("%s", Matcher.quoteReplacement(examples.get(0))));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    int result = compiler.run(
        null,
        null,
        null,
        "-proc:none",
        "-classpath",
        System.getProperty("java.class.path"),
        "-d",
        folder.toString(),
        source.toString());
    if (result != 0) {
      throw new AssertionError("the example in " + PAGE + " does not compile");
    }
    // Not closed, since Spring loads resources of the class later.
    return new java.net.URLClassLoader(
            new java.net.URL[] {folder.toUri().toURL()}, DocumentedSecurity.class.getClassLoader())
        .loadClass("Documented");
  }
}
