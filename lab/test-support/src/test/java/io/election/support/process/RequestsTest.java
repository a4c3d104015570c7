package io.election.support.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RequestsTest {

  @Test
  void commandsOfMysqlAreCountedAndAnswersToItsHandshakeAreNot() {
    byte[] sent =
        bytes(mysql(1, "login"), mysql(0, "SELECT 1"), mysql(0, ""), mysql(0, "x".repeat(70_000)));
    assertThat(count(Requests.Protocol.MYSQL, sent)).isEqualTo(3);
  }

  @Test
  void allPacketsOfZooKeeperButPingsAreCounted() {
    byte[] ping = {0, 0, 0, 8, -1, -1, -1, -2, 0, 0, 0, 11};
    byte[] sent =
        bytes(new byte[] {0, 0, 1, 4}, new byte[260], ping, new byte[] {0, 0, 0, 8}, new byte[8]);
    assertThat(count(Requests.Protocol.ZOOKEEPER, sent)).isEqualTo(2);
  }

  @Test
  void dataFramesThatAreNotEmptyAreCounted() {
    byte[] sent = bytes(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
        frame(4, 18),
        frame(1, 300),
        frame(0, 5),
        frame(0, 0),
        frame(6, 8),
        frame(0, 70_000));
    assertThat(count(Requests.Protocol.HTTP_2, sent)).isEqualTo(2);
  }

  @Test
  void theTextOfARequestIsReportedOnceItWasSent() {
    String large = "x".repeat(2_000);
    byte[] sent = bytes(mysql(1, "login"), mysql(0, "SELECT 1"), mysql(0, large), mysql(0, "y"));
    for (int size : new int[] {1, 3, 7, 1460}) {
      List<String> texts = new ArrayList<>();
      count(new Requests(Requests.Protocol.MYSQL, texts::add), sent, size);
      assertThat(texts).as("in packets of %d", size).containsExactly("SELECT 1", large, "y");
    }
  }

  @Test
  void roundTripsOfPostgresqlAreCountedAndTextsAreReportedAsParsed() {
    byte[] startUp = bytes(new byte[] {0, 0, 0, 70, 0, 3, 0, 0}, new byte[62]);
    byte[] sent = bytes(
        startUp,
        postgresql('p', "password"),
        postgresql('P', "BEGIN"),
        postgresql('B', ""),
        postgresql('P', "SELECT 1"),
        postgresql('E', "x".repeat(70_000)),
        postgresql('S', ""),
        postgresql('Q', "SELECT 2"),
        postgresql('X', ""));
    assertThat(count(Requests.Protocol.POSTGRESQL, sent)).isEqualTo(2);
    List<String> texts = new ArrayList<>();
    count(new Requests(Requests.Protocol.POSTGRESQL, texts::add), sent, 7);
    assertThat(texts).containsExactly("BEGIN", "SELECT 1", "SELECT 2");
  }

  /** Returns the count, which does not depend on how the bytes are split into packets. */
  private static long count(Requests.Protocol protocol, byte[] sent) {
    long whole = count(protocol, sent, sent.length);
    for (int size : new int[] {1, 3, 7, 1460}) {
      assertThat(count(protocol, sent, size)).as("in packets of %d", size).isEqualTo(whole);
    }
    return whole;
  }

  private static long count(Requests.Protocol protocol, byte[] sent, int size) {
    return count(new Requests(protocol), sent, size);
  }

  private static long count(Requests requests, byte[] sent, int size) {
    long count = 0;
    for (int from = 0; from < sent.length; from += size) {
      byte[] packet = new byte[Math.min(size, sent.length - from)];
      System.arraycopy(sent, from, packet, 0, packet.length);
      count += requests.applyAsInt(packet);
    }
    return count;
  }

  private static byte[] mysql(int number, String text) {
    int length = text.length();
    byte[] header = {(byte) length, (byte) (length >> 8), (byte) (length >> 16), (byte) number};
    return bytes(header, text.getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] postgresql(char type, String text) {
    int length = text.length() + 4;
    byte[] header = {(byte) type, 0, (byte) (length >> 16), (byte) (length >> 8), (byte) length};
    return bytes(header, text.getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] frame(int type, int length) {
    byte[] header = {
      (byte) (length >> 16), (byte) (length >> 8), (byte) length, (byte) type, 0, 0, 0, 0, 1
    };
    return bytes(header, new byte[length]);
  }

  private static byte[] bytes(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}
