package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.InsecureChannelCredentials;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the failures of etcd 3.4 mean, by their codes and texts. */
class EtcdErrorsTest {

  private static final EtcdChannels ENDPOINTS = new EtcdChannels(
      List.of(InetSocketAddress.createUnresolved("a", 1)),
      InsecureChannelCredentials.create(),
      new EtcdLogin("", "", System::nanoTime));

  @ParameterizedTest
  @CsvSource(delimiter = '|', useHeadersInDisplayName = true, textBlock = """
          code                | text                                       | expired | user  | costs | told
          RESOURCE_EXHAUSTED  | etcdserver: mvcc: database space exceeded  | false   | false | false | etcdctl alarm disarm
          INVALID_ARGUMENT    | etcdserver: authentication failed, invalid | false   | true  | false | refuses the user or its password
          FAILED_PRECONDITION | etcdserver: authentication failed, none    | false   | true  | false | refuses the user or its password
          INVALID_ARGUMENT    | etcdserver: user name is empty             | false   | true  | false | refuses the user or its password
          PERMISSION_DENIED   | etcdserver: permission denied              | false   | true  | false | readwrite /election/
          UNAUTHENTICATED     | etcdserver: invalid auth token             | true    | true  | false | invalid auth token: refused. Is the endpoint right
          INVALID_ARGUMENT    | etcdserver: revision of auth store is old  | true    | true  | false | is old: refused. Is the endpoint right
          DEADLINE_EXCEEDED   | context deadline exceeded                  | false   | false | true  | etcd at a:1 has not answered within 2000 ms
          UNAVAILABLE         |                                            | false   | false | true  | etcd at a:1 failed: UNAVAILABLE: refused.
          """)
  void aFailureIsJudgedAndExplained(
      Status.Code code, String text, boolean expired, boolean user, boolean costs, String told) {
    StatusRuntimeException failure = Status.fromCode(code)
        .withDescription(text)
        .withCause(new IOException("refused"))
        .asRuntimeException();

    assertThat(EtcdErrors.isExpiredToken(failure)).as("expired token").isEqualTo(expired);
    assertThat(EtcdErrors.isRefusedUser(failure)).as("refused user").isEqualTo(user);
    assertThat(EtcdErrors.costsConnection(failure)).as("costs connection").isEqualTo(costs);
    assertThat(EtcdErrors.isTooLong(failure)).as("too long").isFalse();
    assertThat(explained(failure)).contains(told);
  }

  /** The log repeats equal failures once a minute. */
  @Test
  void timeoutsOfDifferentLengthsAreEqualFailures() {
    assertThat(explained(Status.DEADLINE_EXCEEDED
            .withDescription("CallOptions deadline exceeded after 0.199960172s.")
            .asRuntimeException()))
        .isEqualTo(explained(Status.DEADLINE_EXCEEDED
            .withDescription("CallOptions deadline exceeded after 0.199842116s.")
            .asRuntimeException()));
  }

  @Test
  void aTransactionWithTooManyOperationsIsTooLong() {
    StatusRuntimeException failure = Status.INVALID_ARGUMENT
        .withDescription("etcdserver: too many operations in txn request")
        .asRuntimeException();

    assertThat(EtcdErrors.isTooLong(failure)).isTrue();
    assertThat(explained(failure)).contains("--max-txn-ops=128");
  }

  private static String explained(StatusRuntimeException failure) {
    return EtcdErrors.explain(failure, ENDPOINTS.toString(), "/election/", Duration.ofSeconds(2));
  }
}
