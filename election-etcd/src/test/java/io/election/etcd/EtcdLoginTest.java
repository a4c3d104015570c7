package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Logins, and the tokens and connections that they lead to. */
class EtcdLoginTest {

  private static final long PATIENCE = Duration.ofSeconds(20).toNanos();

  private static final Status REFUSED =
      Status.INVALID_ARGUMENT.withDescription("etcdserver: authentication failed");

  private final AtomicLong nanos = new AtomicLong();

  private final EtcdLogin login = new EtcdLogin("ours", "secret", this.nanos::get);

  @AutoClose
  private final ScriptedEtcd server = new ScriptedEtcd();

  @AutoClose
  private final ScriptedEtcd another = new ScriptedEtcd();

  @AutoClose("drop")
  private final EtcdChannels channels =
      ScriptedEtcd.channels(this.login, this.server, this.another);

  EtcdLoginTest() throws Exception {}

  private int logins() {
    return this.server.logins().size() + this.another.logins().size();
  }

  private void fails(String status) {
    assertThatThrownBy(() -> this.channels.open(PATIENCE)).hasMessageContaining(status);
  }

  private void pass() {
    this.nanos.addAndGet(Duration.ofSeconds(45).toNanos());
  }

  @Test
  void aTokenIsUsedOnAllConnectionsUntilItIsRefused() {
    assertThat(this.login.isEmpty()).isFalse();
    assertThat(this.channels.hasToken()).isFalse();
    this.channels.open(PATIENCE);
    assertThat(this.server.logins()).singleElement().satisfies((login) -> {
      assertThat(login.getName()).isEqualTo("ours");
      assertThat(login.getPassword()).isEqualTo("secret");
    });
    this.channels.drop();
    this.channels.open(PATIENCE);
    assertThat(this.channels.hasToken()).isTrue();
    assertThat(logins()).isEqualTo(1);

    this.channels.logOut();
    assertThat(this.channels.hasToken()).isFalse();
    this.channels.open(PATIENCE);
    assertThat(this.another.logins()).hasSize(1);
    this.channels.drop();
    this.channels.logOut();
    this.channels.open(PATIENCE);
    assertThat(this.server.logins()).hasSize(2);
  }

  @Test
  void aRefusedLoginWaitsOnAllConnectionsAndNoOtherDoes() {
    this.server.login(Status.UNAVAILABLE);
    fails("UNAVAILABLE");
    this.server.login(REFUSED);
    fails("authentication failed");
    EtcdChannels shared = this.channels.another();
    assertThatThrownBy(() -> shared.open(PATIENCE)).hasMessageContaining("authentication failed");
    assertThat(logins()).isEqualTo(2);
    shared.drop();

    pass();
    this.server.login(Status.UNAVAILABLE);
    fails("UNAVAILABLE");
    this.server.login(Status.DEADLINE_EXCEEDED);
    fails("DEADLINE_EXCEEDED");
    fails("authentication failed");
    assertThat(logins()).isEqualTo(4);

    pass();
    this.server.login(Status.OK);
    this.channels.open(PATIENCE);
    this.channels.logOut();
    this.channels.open(PATIENCE);
    assertThat(logins()).isEqualTo(6);
  }

  @Test
  void aLoginEndsInItsTime() {
    assertThatThrownBy(() -> this.channels.open(1)).hasMessageContaining("DEADLINE_EXCEEDED");
  }

  @Test
  void theEndpointsAndTheUserAreToldWithoutThePassword() {
    assertThat(this.login).hasToString("ours");
    assertThat(this.channels).asString().matches("127.0.0.1:\\d+, 127.0.0.1:\\d+");
  }
}
