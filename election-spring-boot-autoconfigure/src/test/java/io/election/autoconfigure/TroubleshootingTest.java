package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Users search docs/troubleshooting.md for the message that they see. */
class TroubleshootingTest {

  private static final Path ROOT = Path.of("..");

  private static final Pattern SYMPTOM = Pattern.compile("(?m)^\\| `([^`|]* [^`|]*)`.* \\|.*$");

  @Test
  void messagesAreThoseOfTheCode() throws IOException {
    String code = code();
    List<String> messages = SYMPTOM
        .matcher(Files.readString(ROOT.resolve("docs/troubleshooting.md")))
        .results()
        .map((row) -> row.group(1))
        .toList();
    assertThat(messages)
        .hasSizeGreaterThan(15)
        .allMatch((message) -> pattern(message).matcher(code).find(), "is in the code");
  }

  private static Pattern pattern(String message) {
    return Pattern.compile(Stream.of(message.split("…"))
        .map(String::strip)
        .map(Pattern::quote)
        .collect(Collectors.joining(".*")));
  }

  /** The sources of the library, with each text on one line. */
  private static String code() throws IOException {
    StringBuilder code = new StringBuilder();
    for (Path file : ArchitectureTest.sources("election-(?:core|jdbc|spring-boot-autoconfigure)")) {
      code.append(Files.readString(file).replaceAll("\"\\s*\\+\\s*\"", ""));
    }
    return code.toString();
  }
}
