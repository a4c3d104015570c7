package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.election.etcd.ScriptedEtcd.Watched;
import io.election.keyvalue.KeyValueServer.Change;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A watch in real time: it begins again half a second after its end. */
class EtcdWatchTest {

  private static final String PREFIX = "/election/";

  private static final WatchResponse DENIED =
      WatchResponse.newBuilder().setCanceled(true).setCancelReason("denied").build();

  private static final EtcdLogin NOBODY = new EtcdLogin("", "", System::nanoTime);

  private final List<EtcdWatch> open = new ArrayList<>();

  private final BlockingQueue<Change> changes = new LinkedBlockingQueue<>();

  @AutoClose
  private final ScriptedEtcd server = new ScriptedEtcd();

  @AutoClose
  private final ScriptedEtcd another = new ScriptedEtcd();

  /** Shows to the other tests that time has passed. */
  @AutoClose
  private final ScriptedEtcd clock = new ScriptedEtcd();

  EtcdWatchTest() throws Exception {}

  @AfterEach
  void close() {
    this.open.forEach(EtcdWatch::close);
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter((thread) -> thread.getName().equals("election-etcd-watch"))
        .collect(Collectors.toSet());
  }

  private EtcdWatch watch(EtcdLogin login, ScriptedEtcd... servers) {
    EtcdWatch watch =
        new EtcdWatch(ScriptedEtcd.channels(login, servers), PREFIX, this.changes::add);
    this.open.add(watch);
    return watch;
  }

  /** Waits until a watch that ended now would have begun again. */
  private void awaitPause() {
    watch(NOBODY, this.clock);
    this.clock.await(0).answers.onCompleted();
    this.clock.await(1).answers.onCompleted();
    this.clock.await(2);
  }

  private Change next() throws InterruptedException {
    return this.changes.poll(ScriptedEtcd.PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  private void awaitDrop() {
    ScriptedEtcd.await("closed").until(() -> this.server.connections() == 0);
  }

  private static Event event(Event.EventType type, String key, String value, long revision) {
    return Event.newBuilder()
        .setType(type)
        .setKv(KeyValue.newBuilder()
            .setKey(ByteString.copyFromUtf8(PREFIX + key))
            .setValue(ByteString.copyFromUtf8(value))
            .setModRevision(revision))
        .build();
  }

  @Test
  void changesOfTheKeysThatAreFollowedAreReported() throws Exception {
    Set<Thread> others = threads();
    EtcdWatch watch = watch(NOBODY, this.server);
    Set<Thread> ours = threads();
    ours.removeAll(others);
    assertThat(ours).singleElement().matches(Thread::isDaemon, "keeps no JVM from its end");
    Watched watched = this.server.await(0);
    assertThat(watched.requests)
        .extracting((request) -> request.getCreateRequest().getKey().toStringUtf8())
        .containsExactly("/election/", "/election/\u007f", "/election/~members/");
    assertThat(watched.requests)
        .extracting((request) -> request.getCreateRequest().getRangeEnd().toStringUtf8())
        .containsExactly("/election/~", "/election/\uDBFF\uDFFF", "/election/~members0");
    assertThat(watched.header("hasleader")).isEqualTo("true");
    assertThat(watched.header("token")).isNull();
    watch.follow(Set.of("billing"));

    watched.answers.onNext(WatchResponse.newBuilder()
        .addEvents(event(Event.EventType.PUT, "other", "a", 6))
        .addEvents(event(Event.EventType.PUT, "billing", "a", 7))
        .addEvents(event(Event.EventType.DELETE, "billing", "", 8))
        .build());

    assertThat(next()).isEqualTo(new Change("billing", Change.Kind.WRITTEN, "a", 7));
    assertThat(next()).isEqualTo(new Change("billing", Change.Kind.DELETED, null, 8));
    watch.close();
    awaitDrop();
    ScriptedEtcd.await("ended").until(() -> ours.stream().noneMatch(Thread::isAlive));
  }

  @Test
  void aWatchThatFailsBeginsWithTheNextEndpointAndWithAnotherTokenIfThatHasExpired() {
    watch(new EtcdLogin("ours", "secret", System::nanoTime), this.server, this.another);
    begunWith("token-1", this.server, 0).answers.onError(Status.UNAVAILABLE.asException());
    begunWith("token-1", this.another, 0)
        .answers
        .onError(Status.UNAUTHENTICATED.withDescription("invalid auth token").asException());
    begunWith("token-2", this.server, 1);
  }

  @Test
  void aWatchThatIsDeniedBeginsWithAnotherTokenAndThenNotForLong() {
    watch(new EtcdLogin("ours", "secret", System::nanoTime), this.server);
    begunWith("token-1", this.server, 0).answers.onCompleted();
    begunWith("token-1", this.server, 1).answers.onNext(DENIED);
    begunWith("token-2", this.server, 2).answers.onNext(DENIED);
    awaitDrop();
    awaitPause();
    assertThat(this.server.watches()).hasSize(3);
  }

  private static Watched begunWith(String token, ScriptedEtcd server, int number) {
    Watched watched = server.await(number);
    assertThat(watched.header("token")).isEqualTo(token);
    return watched;
  }

  @Test
  void aFailedLoginIsFollowedByAnother() {
    this.server.login(Status.UNAVAILABLE);
    watch(new EtcdLogin("ours", "", System::nanoTime), this.server);
    ScriptedEtcd.await("login").until(() -> !this.server.logins().isEmpty());
    this.server.login(Status.OK);
    this.server.await(0);
  }

  @Test
  void aWatchThatIsClosedDoesNotBeginAgain() {
    EtcdWatch watch = watch(NOBODY, this.server);
    this.server.await(0).answers.onCompleted();
    awaitDrop();
    watch.close();
    awaitPause();
    assertThat(this.server.watches()).hasSize(1);
  }
}
