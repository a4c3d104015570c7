package io.election.etcd;

import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.MaintenanceGrpc;
import io.etcd.jetcd.api.StatusRequest;
import io.etcd.jetcd.api.StatusResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Answers transactions, logins and watches as the test says. */
final class ScriptedEtcd implements AutoCloseable {

  static final long LOG_INDEX = 42;

  static final int PATIENCE_SECONDS = Integer.getInteger("await.seconds", 10);

  private static final Context.Key<Metadata> HEADERS = Context.key("headers");

  private final List<AuthenticateRequest> logins = new CopyOnWriteArrayList<>();
  private final List<Watched> watches = new CopyOnWriteArrayList<>();
  private final Server server;
  private final AtomicInteger connections = new AtomicInteger();
  private final List<TxnRequest> transactions = new CopyOnWriteArrayList<>();
  private volatile Status login = Status.OK;
  private volatile boolean showsLog = true;
  private volatile Function<TxnRequest, TxnResponse> answer =
      (transaction) -> TxnResponse.getDefaultInstance();

  /** A watch that a client has created. */
  static final class Watched implements StreamObserver<WatchRequest> {

    final Metadata headers = HEADERS.get();
    final StreamObserver<WatchResponse> answers;
    final List<WatchRequest> requests = new CopyOnWriteArrayList<>();

    Watched(StreamObserver<WatchResponse> answers) {
      this.answers = answers;
    }

    String header(String name) {
      return this.headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    }

    @Override
    public void onNext(WatchRequest request) {
      this.requests.add(request);
    }

    @Override
    public void onError(Throwable cause) {}

    @Override
    public void onCompleted() {}
  }

  ScriptedEtcd() throws IOException {
    this.server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
        .addService(new Logins())
        .addService(new Watches())
        .addService(new Transactions())
        .addService(new Statuses())
        .intercept(new Headers())
        .addTransportFilter(new Connections())
        .build()
        .start();
  }

  /** Answers logins so from now on. */
  void login(Status login) {
    this.login = login;
  }

  /** Answers transactions so from now on: with a response, {@code null} for none, or a status. */
  void answer(Function<TxnRequest, TxnResponse> answer) {
    this.answer = answer;
  }

  /** Leaves questions for its log without an answer from now on. */
  void hideLog() {
    this.showsLog = false;
  }

  List<TxnRequest> transactions() {
    return this.transactions;
  }

  List<AuthenticateRequest> logins() {
    return this.logins;
  }

  List<Watched> watches() {
    return this.watches;
  }

  /** How many connections are open. */
  int connections() {
    return this.connections.get();
  }

  static ConditionFactory await(String what) {
    return Awaitility.await(what).atMost(Duration.ofSeconds(PATIENCE_SECONDS));
  }

  /** Waits for a watch with all its requests. */
  Watched await(int number) {
    await("watch " + number)
        .until(() -> this.watches.size() > number
            && this.watches.get(number).requests.size() == EtcdKeys.WATCHED.size());
    return this.watches.get(number);
  }

  String url() {
    return "http://127.0.0.1:" + this.server.getPort();
  }

  /** Returns connections to these servers. */
  static EtcdChannels channels(EtcdLogin login, ScriptedEtcd... servers) {
    List<InetSocketAddress> addresses = Stream.of(servers)
        .map((each) -> new InetSocketAddress("127.0.0.1", each.server.getPort()))
        .toList();
    return new EtcdChannels(addresses, InsecureChannelCredentials.create(), login);
  }

  @Override
  public void close() {
    this.server.shutdownNow();
  }

  private static final class Headers implements ServerInterceptor {

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      return Contexts.interceptCall(
          Context.current().withValue(HEADERS, headers), call, headers, next);
    }
  }

  private final class Connections extends ServerTransportFilter {

    @Override
    public Attributes transportReady(Attributes attributes) {
      ScriptedEtcd.this.connections.incrementAndGet();
      return attributes;
    }

    @Override
    public void transportTerminated(Attributes attributes) {
      ScriptedEtcd.this.connections.decrementAndGet();
    }
  }

  private final class Logins extends AuthGrpc.AuthImplBase {

    @Override
    public void authenticate(
        AuthenticateRequest request, StreamObserver<AuthenticateResponse> answers) {
      ScriptedEtcd.this.logins.add(request);
      Status login = ScriptedEtcd.this.login;
      if (login.isOk()) {
        answers.onNext(AuthenticateResponse.newBuilder()
            .setToken("token-" + ScriptedEtcd.this.logins.size())
            .build());
        answers.onCompleted();
      } else {
        answers.onError(login.asException());
      }
    }
  }

  private final class Watches extends WatchGrpc.WatchImplBase {

    @Override
    public StreamObserver<WatchRequest> watch(StreamObserver<WatchResponse> answers) {
      Watched watched = new Watched(answers);
      ScriptedEtcd.this.watches.add(watched);
      return watched;
    }
  }

  private final class Transactions extends KVGrpc.KVImplBase {

    @Override
    public void txn(TxnRequest request, StreamObserver<TxnResponse> answers) {
      ScriptedEtcd.this.transactions.add(request);
      try {
        TxnResponse response = ScriptedEtcd.this.answer.apply(request);
        if (response != null) {
          answers.onNext(response);
          answers.onCompleted();
        }
      } catch (StatusRuntimeException ex) {
        answers.onError(ex);
      }
    }
  }

  private final class Statuses extends MaintenanceGrpc.MaintenanceImplBase {

    @Override
    public void status(StatusRequest request, StreamObserver<StatusResponse> answers) {
      if (ScriptedEtcd.this.showsLog) {
        answers.onNext(
            StatusResponse.newBuilder().setRaftAppliedIndex(LOG_INDEX).build());
        answers.onCompleted();
      }
    }
  }
}
