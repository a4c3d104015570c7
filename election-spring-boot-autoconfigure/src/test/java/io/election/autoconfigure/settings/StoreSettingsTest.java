package io.election.autoconfigure.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;

import io.election.store.LeaseStore;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.mock.env.MockEnvironment;

/** A store that must answer before the start, while no elector would close it yet. */
class StoreSettingsTest {

  private final MockEnvironment environment = new MockEnvironment()
      .withProperty("as.election.service-id", "orders")
      .withProperty("as.election.fail-fast", "true");

  private final LeaseStore store = mock(LeaseStore.class);

  private final AtomicInteger opened = new AtomicInteger();

  private final AtomicInteger open = new AtomicInteger();

  @BeforeEach
  void count() throws Exception {
    given(this.store.read(any())).willAnswer((read) -> {
      this.opened.incrementAndGet();
      this.open.set(1);
      return Map.of();
    });
    doAnswer((close) -> this.open.getAndSet(0)).when(this.store).close();
  }

  @Test
  void aStoreThatAnswersKeepsNoConnectionBeforeItsElectorStarts() throws Exception {
    assertThat(reachable()).isSameAs(this.store);
    assertThat(this.opened).hasValue(1);
    assertThat(this.open).hasValue(0);
  }

  @Test
  void aStoreThatFailsUnexpectedlyKeepsNoConnection() throws Exception {
    given(this.store.read(any())).willAnswer((read) -> {
      this.open.set(1);
      throw new IllegalStateException("injected");
    });
    assertThatThrownBy(this::reachable).hasMessage("injected");
    assertThat(this.open).hasValue(0);
  }

  @Test
  void aStoreThatNeedNotAnswerIsNotAsked() throws Exception {
    this.environment.setProperty("as.election.fail-fast", "false");
    assertThat(reachable()).isSameAs(this.store);
    assertThat(this.opened).hasValue(0);
  }

  private LeaseStore reachable() throws Exception {
    ElectionProperties properties =
        Binder.get(this.environment).bindOrCreate("as.election", ElectionProperties.class);
    return StoreSettings.reachable(this.store, properties, this.environment);
  }
}
