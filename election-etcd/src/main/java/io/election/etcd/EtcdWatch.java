package io.election.etcd;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import io.election.keyvalue.KeyValueServer;
import io.election.keyvalue.KeyValueServer.Change;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the records and the members of a prefix from now on. If the watch ends, for whatever reason, creates
 * another one after a pause.
 */
final class EtcdWatch implements KeyValueServer.Watch {

  private static final Logger log = LoggerFactory.getLogger(EtcdWatch.class);

  private static final long PAUSE_MILLIS = 500;
  private static final long DENIED_MILLIS = 30_000;

  private final EtcdChannels channels;
  private final String prefix;
  private final Consumer<Change> changed;
  private final ScheduledExecutorService thread;
  private volatile Set<String> followed = Set.of();

  EtcdWatch(EtcdChannels channels, String prefix, Consumer<Change> changed) {
    this.channels = channels;
    this.prefix = prefix;
    this.changed = changed;
    this.thread = Executors.newSingleThreadScheduledExecutor((work) -> {
      Thread thread = new Thread(work, "election-etcd-watch");
      thread.setDaemon(true);
      return thread;
    });
    this.thread.execute(this::begin);
  }

  private void begin() {
    if (this.thread.isShutdown()) {
      return;
    }
    Answers answers = new Answers(!this.channels.hasToken());
    try {
      StreamObserver<WatchRequest> requests =
          WatchGrpc.newStub(this.channels.open(SECONDS.toNanos(5))).watch(answers);
      for (EtcdKeys.Range range : EtcdKeys.WATCHED) {
        requests.onNext(WatchRequest.newBuilder()
            .setCreateRequest(WatchCreateRequest.newBuilder()
                .setKey(range.from(this.prefix))
                .setRangeEnd(range.to(this.prefix)))
            .build());
      }
    } catch (Throwable ex) { // the executor would swallow it, and nothing would be watched
      answers.ended(ex, false);
    }
  }

  /** One life of the watch. */
  private final class Answers implements StreamObserver<WatchResponse> {

    private final AtomicBoolean over = new AtomicBoolean();
    private final boolean newToken;

    /** Creates a life, with a token that may have expired or with one that has not. */
    Answers(boolean newToken) {
      this.newToken = newToken;
    }

    private void ended(Throwable cause, boolean denied) {
      if (!this.over.compareAndSet(false, true)) {
        return;
      }
      synchronized (EtcdWatch.this) {
        ScheduledExecutorService thread = EtcdWatch.this.thread;
        if (!thread.isShutdown()) {
          if (denied) {
            thread.execute(EtcdWatch.this.channels::logOut);
          }
          thread.execute(EtcdWatch.this.channels::drop);
          long pause = denied && this.newToken ? DENIED_MILLIS : PAUSE_MILLIS;
          ScheduledFuture<?> unused = thread.schedule(EtcdWatch.this::begin, pause, MILLISECONDS);
        }
      }
      log.debug("The watch of etcd has ended: {}", cause.toString());
    }

    @Override
    public void onNext(WatchResponse response) {
      if (response.getCanceled()) {
        ended(new IllegalStateException(response.getCancelReason()), true);
      }
      response.getEventsList().forEach((event) -> {
        String key = event.getKv().getKey().toStringUtf8();
        String followed = key.substring(EtcdWatch.this.prefix.length());
        if (EtcdWatch.this.followed.contains(followed)) {
          EtcdWatch.this.changed.accept(change(followed, event));
        }
      });
    }

    private static Change change(String key, Event event) {
      long revision = event.getKv().getModRevision();
      return event.getType() == Event.EventType.DELETE
          ? new Change(key, Change.Kind.DELETED, null, revision)
          : new Change(key, Change.Kind.WRITTEN, event.getKv().getValue().toStringUtf8(), revision);
    }

    @Override
    public void onError(Throwable cause) {
      ended(cause, cause instanceof StatusRuntimeException ex && EtcdErrors.isExpiredToken(ex));
    }

    @Override
    public void onCompleted() {
      ended(new IllegalStateException("completed"), false);
    }
  }

  @Override
  public void follow(Set<String> keys) {
    this.followed = keys;
  }

  @Override
  public void close() {
    synchronized (this) {
      if (!this.thread.isShutdown()) {
        this.thread.execute(this.channels::drop);
        this.thread.shutdown();
      }
    }
  }
}
