package io.election.autoconfigure.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.springframework.mock.env.MockEnvironment;

class LocalNodeTest {

  @Test
  void theNameOfTheHostIsLookedUpAnewForEachStart() {
    AtomicReference<String> host = new AtomicReference<>("first");
    LocalNode node = new LocalNode(new MockEnvironment(), null, host::get);
    assertThat(node.id()).startsWith("first:");

    // The process is restored from a checkpoint on another host.
    host.set("second");

    assertThat(node.lookedUp().id()).startsWith("second:").isEqualTo(node.id());
    assertThat(node.isMeantBy("second")).isTrue();
    assertThat(node.isMeantBy("first")).isFalse();
  }
}
