package io.election.etcd;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A user of etcd; empty if etcd does not authenticate. Keeps all connections of a store from
 * repeating a login that etcd has refused: each one costs the server the slow hash of a password.
 * Thread-safe.
 */
final class EtcdLogin {

  /** Is spread: nodes that were refused together do not try again together. */
  private static final long PAUSE_NANOS = Duration.ofSeconds(30).toNanos();

  private final String username;
  private final String password;
  private final LongSupplier ticker;
  private @Nullable StatusRuntimeException refusal;
  private long until;

  /**
   * Creates a login that was not refused.
   *
   * @param ticker the monotonic clock, in nanoseconds
   */
  EtcdLogin(String username, String password, LongSupplier ticker) {
    this.username = username;
    this.password = password;
    this.ticker = ticker;
  }

  boolean isEmpty() {
    return this.username.isEmpty();
  }

  /**
   * Logs in, unless etcd has refused that too recently.
   *
   * @return the token
   * @throws StatusRuntimeException if it fails; after a refusal with the same status, until the
   *     next attempt is due
   */
  String authenticate(Channel channel, long timeoutNanos) {
    begin();
    try {
      String token = AuthGrpc.newBlockingStub(channel)
          .withDeadlineAfter(timeoutNanos, TimeUnit.NANOSECONDS)
          .authenticate(AuthenticateRequest.newBuilder()
              .setNameBytes(ByteString.copyFromUtf8(this.username))
              .setPasswordBytes(ByteString.copyFromUtf8(this.password))
              .build())
          .getToken();
      succeeded();
      return token;
    } catch (StatusRuntimeException ex) {
      failed(ex);
      throw ex;
    }
  }

  /** After a refusal, this attempt counts as refused until it ends: no other thread logs in too. */
  private synchronized void begin() {
    if (this.refusal != null) {
      if (this.until - this.ticker.getAsLong() > 0) {
        throw this.refusal.getStatus().asRuntimeException();
      }
      pause();
    }
  }

  private synchronized void succeeded() {
    this.refusal = null;
  }

  private synchronized void failed(StatusRuntimeException failure) {
    if (EtcdErrors.isRefusedUser(failure)) {
      this.refusal = failure;
      pause();
    } else if (failure.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
      pause(); // a busy server may refuse a login only after the time-out
    } else {
      this.until = this.ticker.getAsLong();
    }
  }

  private void pause() {
    long spread = ThreadLocalRandom.current().nextLong(PAUSE_NANOS / 2);
    this.until = this.ticker.getAsLong() + PAUSE_NANOS + spread;
  }

  @Override
  public String toString() {
    return this.username;
  }
}
