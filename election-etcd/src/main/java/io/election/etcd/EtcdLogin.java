package io.election.etcd;

import com.google.protobuf.ByteString;
import io.election.keyvalue.LoginPause;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A user of etcd; empty if etcd does not authenticate. Keeps all connections of a store from
 * repeating a login that etcd has refused: each one costs the server the slow hash of a password.
 * Thread-safe.
 */
final class EtcdLogin {

  private final String username;
  private final String password;
  private final LoginPause<StatusRuntimeException> pause;

  /**
   * Creates a login that was not refused.
   *
   * @param ticker the monotonic clock, in nanoseconds
   */
  EtcdLogin(String username, String password, LongSupplier ticker) {
    this.username = username;
    this.password = password;
    this.pause = new LoginPause<>(ticker);
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
    StatusRuntimeException refusal = this.pause.begin();
    if (refusal != null) {
      throw refusal.getStatus().asRuntimeException();
    }
    try {
      String token = AuthGrpc.newBlockingStub(channel)
          .withDeadlineAfter(timeoutNanos, TimeUnit.NANOSECONDS)
          .authenticate(AuthenticateRequest.newBuilder()
              .setNameBytes(ByteString.copyFromUtf8(this.username))
              .setPasswordBytes(ByteString.copyFromUtf8(this.password))
              .build())
          .getToken();
      this.pause.granted();
      return token;
    } catch (StatusRuntimeException ex) {
      if (EtcdErrors.isRefusedUser(ex)) {
        this.pause.refused(ex);
      } else {
        this.pause.failed(ex.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED);
      }
      throw ex;
    }
  }

  @Override
  public String toString() {
    return this.username;
  }
}
