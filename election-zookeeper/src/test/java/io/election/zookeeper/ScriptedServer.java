package io.election.zookeeper;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.jute.BinaryOutputArchive;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.MultiResponse;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs;

/** Speaks ZooKeeper's protocol, and answers every request as the test says. */
final class ScriptedServer implements AutoCloseable {

  /** The number of a request by which a client logs in. */
  private static final int LOGIN = -4;

  private final ServerSocket listener;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
  private final AtomicInteger sessions = new AtomicInteger();
  private volatile Answer answer = result(Code.NONODE);
  private volatile Code login = Code.OK;

  /** Answers a request. */
  @FunctionalInterface
  interface Answer {

    void to(int request, DataOutputStream out) throws IOException;
  }

  ScriptedServer() throws IOException {
    this.listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    daemon(
        () -> {
          while (true) {
            Socket connection = this.listener.accept();
            this.connections.add(connection);
            daemon(() -> serve(connection), connection);
          }
        },
        this.listener);
  }

  private interface Work {

    void run() throws IOException;
  }

  private static void daemon(Work work, Closeable closes) {
    Thread thread = new Thread(() -> {
      try (closes) {
        work.run();
      } catch (IOException ex) {
        // The connection has ended.
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  String address() {
    return "127.0.0.1:" + this.listener.getLocalPort();
  }

  /** How many sessions were opened. */
  int sessions() {
    return this.sessions.get();
  }

  ScriptedServer answer(Answer answer) {
    this.answer = answer;
    return this;
  }

  /** Answers logins so. */
  void login(Code code) {
    this.login = code;
  }

  /** Answers with the result of the only operation. */
  static Answer result(Code code) {
    MultiResponse response = new MultiResponse();
    response.add(new OpResult.ErrorResult(code.intValue()));
    return (request, out) -> {
      ByteArrayOutputStream results = new ByteArrayOutputStream();
      response.serialize(BinaryOutputArchive.getArchive(results), "");
      reply(request, Code.OK, results.toByteArray(), out);
    };
  }

  /** Answers with an error of the whole request. */
  static Answer error(Code code) {
    return (request, out) -> reply(request, code, new byte[0], out);
  }

  static void silence(int request, DataOutputStream out) {}

  static void hangUp(int request, DataOutputStream out) throws IOException {
    throw new EOFException();
  }

  private void serve(Socket connection) throws IOException {
    DataInputStream in = new DataInputStream(connection.getInputStream());
    DataOutputStream out = new DataOutputStream(connection.getOutputStream());
    receive(in);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream session = new DataOutputStream(bytes);
    session.writeInt(0);
    session.writeInt(40_000);
    session.writeLong(this.sessions.incrementAndGet());
    session.writeInt(16);
    session.write(new byte[16]);
    session.writeBoolean(false);
    send(bytes.toByteArray(), out);
    while (true) {
      DataInputStream request = receive(in);
      int number = request.readInt();
      if (request.readInt() == ZooDefs.OpCode.closeSession) {
        reply(number, Code.OK, new byte[0], out);
        return;
      }
      if (number == LOGIN) {
        reply(number, this.login, new byte[0], out);
      } else {
        this.answer.to(number, out);
      }
    }
  }

  private static DataInputStream receive(DataInputStream in) throws IOException {
    return new DataInputStream(new ByteArrayInputStream(in.readNBytes(in.readInt())));
  }

  private static void reply(int request, Code code, byte[] results, DataOutputStream out)
      throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream reply = new DataOutputStream(bytes);
    reply.writeInt(request);
    reply.writeLong(1);
    reply.writeInt(code.intValue());
    reply.write(results);
    send(bytes.toByteArray(), out);
  }

  private static void send(byte[] frame, DataOutputStream out) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream sent = new DataOutputStream(bytes);
    sent.writeInt(frame.length);
    sent.write(frame);
    out.write(bytes.toByteArray());
  }

  @Override
  public void close() throws IOException {
    this.listener.close();
    for (Socket connection : List.copyOf(this.connections)) {
      connection.close();
    }
  }
}
