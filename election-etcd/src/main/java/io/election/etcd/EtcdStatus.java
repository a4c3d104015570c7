package io.election.etcd;

import io.etcd.jetcd.api.MaintenanceGrpc;
import io.etcd.jetcd.api.StatusRequest;
import io.etcd.jetcd.api.StatusResponse;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** A question for the status of a member of etcd, which was sent. */
final class EtcdStatus implements StreamObserver<StatusResponse> {

  private final CompletableFuture<StatusResponse> answer = new CompletableFuture<>();

  private EtcdStatus() {}

  static EtcdStatus ask(Channel channel, long timeoutNanos) {
    EtcdStatus status = new EtcdStatus();
    MaintenanceGrpc.newStub(channel)
        .withDeadlineAfter(timeoutNanos, TimeUnit.NANOSECONDS)
        .status(StatusRequest.getDefaultInstance(), status);
    return status;
  }

  /**
   * Waits for the answer.
   *
   * @throws StatusRuntimeException if there is none in time, or the calling thread is interrupted,
   *     whose flag remains set
   */
  StatusResponse await() {
    try {
      return this.answer.get();
    } catch (ExecutionException ex) {
      throw Status.fromThrowable(ex.getCause()).asRuntimeException();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw Status.CANCELLED.withCause(ex).asRuntimeException();
    }
  }

  @Override
  public void onNext(StatusResponse response) {
    this.answer.complete(response);
  }

  @Override
  public void onError(Throwable cause) {
    this.answer.completeExceptionally(cause);
  }

  @Override
  public void onCompleted() {
    this.answer.completeExceptionally(Status.UNKNOWN.asRuntimeException());
  }
}
