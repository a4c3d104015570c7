package io.election.playground;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class BroadcasterTest {

  @Test
  void onlyFiftyBrowsersWatch() {
    Broadcaster broadcaster = new Broadcaster();
    for (int i = 0; i < 50; i++) {
      broadcaster.add(List.of());
    }
    assertThatThrownBy(() -> broadcaster.add(List.of())).hasMessageContaining("50 browsers");
  }
}
