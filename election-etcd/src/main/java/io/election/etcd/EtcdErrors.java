package io.election.etcd;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;

/** Explains failures of etcd, with their remedies. */
final class EtcdErrors {

  private EtcdErrors() {}

  /** Returns whether the token was refused: then nothing was executed. */
  static boolean isExpiredToken(StatusRuntimeException ex) {
    String text = text(ex);
    return text.contains("invalid auth token") || text.contains("revision of auth store is old");
  }

  /** Returns whether etcd refuses a user, a password or a right, and will until that changes. */
  static boolean isRefusedUser(StatusRuntimeException ex) {
    return switch (ex.getStatus().getCode()) {
      case INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED -> true;
      // a user without a password
      default -> text(ex).contains("authentication failed");
    };
  }

  /** Returns whether a transaction was refused because it has more operations than etcd allows. */
  static boolean isTooLong(StatusRuntimeException ex) {
    return text(ex).contains("too many operations in txn request");
  }

  /** Returns whether another connection may work better than this one. */
  static boolean costsConnection(StatusRuntimeException ex) {
    return ex.getStatus().getCode() != Status.Code.RESOURCE_EXHAUSTED && !isRefusedUser(ex);
  }

  static String explain(
      StatusRuntimeException ex, String endpoints, String prefix, Duration timeout) {
    String text = text(ex);
    if (text.contains("database space exceeded")) {
      return "etcd is full (%s): it refuses all writes, so no node can renew or lead. Compact and defragment it, or raise --quota-backend-bytes, then run: etcdctl alarm disarm"
          .formatted(text);
    }
    if (isTooLong(ex)) {
      return "etcd allows too few operations in a transaction (%s). Start it with --max-txn-ops=128, which is the default"
          .formatted(text);
    }
    if (ex.getStatus().getCode() == Status.Code.PERMISSION_DENIED) {
      return "The user of etcd may not read and write all keys that begin with '%s' (%s). Run: etcdctl role grant-permission ROLE --prefix=true readwrite %s"
          .formatted(prefix, text, prefix);
    }
    if (text.contains("authentication failed") || text.contains("user name is empty")) {
      return "etcd refuses the user or its password (%s). Check both. A node repeats a refused login after 30 to 45 s."
          .formatted(text);
    }
    if (ex.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
      // Without gRPC's text: its nanoseconds differ each time, and equal failures are logged once.
      return "etcd at %s has not answered within %s ms. Is it slow, cut off, or without a quorum?"
          .formatted(endpoints, timeout.toMillis());
    }
    return "etcd at %s failed: %s. Is the endpoint right (http or https), and the cluster up?"
        .formatted(endpoints, text);
  }

  static String text(StatusRuntimeException ex) {
    StringBuilder text = new StringBuilder(ex.getStatus().getCode().toString());
    if (ex.getStatus().getDescription() != null) {
      text.append(": ").append(ex.getStatus().getDescription());
    }
    for (Throwable cause = ex.getCause(); cause != null; cause = cause.getCause()) {
      text.append(": ").append(cause.getMessage());
    }
    return text.toString();
  }
}
