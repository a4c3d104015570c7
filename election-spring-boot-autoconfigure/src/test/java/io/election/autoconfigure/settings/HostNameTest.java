package io.election.autoconfigure.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.env.MockEnvironment;

@ExtendWith(OutputCaptureExtension.class)
class HostNameTest {

  private final AtomicInteger questions = new AtomicInteger();

  @TempDir
  private Path folder;

  @Test
  void theKernelIsReadEachTimeAndTheNameServiceIsNotAsked() throws Exception {
    Path kernel = this.folder.resolve("hostname");
    Files.writeString(kernel, "first\n");
    HostName name = name(kernel, () -> "asked");
    assertThat(name.get()).isEqualTo("first");
    Files.writeString(kernel, "second\n");
    assertThat(name.get()).isEqualTo("second");
    assertThat(name.unasked()).isEqualTo("second");
    assertThat(this.questions).hasValue(0);
  }

  @Test
  void theNameServiceIsAskedOnce() {
    HostName name = name(this.folder.resolve("missing"), () -> "asked");
    assertThat(name.get()).isEqualTo(name.get()).isEqualTo("asked");
    assertThat(this.questions).hasValue(1);
  }

  @Test
  void aNameServiceThatDoesNotAnswerIsAskedOnceAndToldOnce(CapturedOutput output) {
    CountDownLatch never = new CountDownLatch(1);
    HostName name = name(this.folder.resolve("missing"), () -> {
      never.await();
      return "late";
    });
    String first = name.get();
    never.countDown();
    assertThat(name.get()).as("the same at each look-up").isEqualTo(first).isNotEqualTo("late");
    assertThat(this.questions).hasValue(1);
    assertThat(output).containsOnlyOnce("could not be looked up (no answer within 10 ms)");
  }

  @Test
  void aHostWithoutAnAddressKeepsItsName(CapturedOutput output) {
    HostName name = name(this.folder.resolve("missing"), () -> {
      throw new UnknownHostException("web-1");
    });
    assertThat(name.get()).isNotEmpty().isEqualTo(name.get());
    assertThat(this.questions).hasValue(1);
    assertThat(output).containsOnlyOnce("could not be looked up");
  }

  @Test
  void aNodeWithAnIdOfItsOwnAsksNobody() {
    HostName name = name(this.folder.resolve("missing"), () -> "asked");
    LocalNode node = new LocalNode(new MockEnvironment(), "web-1", name::get);
    assertThat(node.lookedUp().id()).isEqualTo("web-1");
    assertThat(node.isMeantBy("web-1")).isTrue();
    assertThat(this.questions).hasValue(0);
  }

  @Test
  void withoutAnElectionNobodyIsAsked() {
    HostName name = name(this.folder.resolve("missing"), () -> "asked");
    assertThat(
            new LocalNode(new MockEnvironment(), null, name::unasked).lookedUp().id())
        .endsWith(":" + ProcessHandle.current().pid());
    assertThat(this.questions).hasValue(0);
  }

  private HostName name(Path kernel, Callable<String> nameService) {
    return new HostName(
        kernel,
        () -> {
          this.questions.incrementAndGet();
          return nameService.call();
        },
        Duration.ofMillis(10));
  }
}
