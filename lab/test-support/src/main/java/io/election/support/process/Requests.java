package io.election.support.process;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;

/** Counts the requests of a client on one connection, from the bytes that it sends. */
public final class Requests implements ToIntFunction<byte[]> {

  /** How to recognize a request. */
  @SuppressWarnings("ImmutableEnumChecker") // the lambdas have no state
  public enum Protocol {
    /** A length of three bytes, the lowest first, and a number. A packet with number 0 is a command. */
    MYSQL(0, 4, (header) -> number(header, 2, 1, 0), (header) -> header[3] == 0),
    /** A length of four bytes, and a number, which is -2 for a ping. */
    ZOOKEEPER(
        0,
        8,
        (header) -> number(header, 0, 1, 2, 3) - 4,
        (header) -> number(header, 4, 5, 6, 7) != 0xFFFF_FFFEL),
    /** A preface, then frames. Each data frame that is not empty is a gRPC message. */
    HTTP_2(
        24,
        9,
        (header) -> number(header, 0, 1, 2),
        (header) -> header[3] == 0 && number(header, 0, 1, 2) > 0),
    /**
     * A type, and a length of four bytes with itself; the first message has no type. A query, or the
     * synchronization after what was parsed and executed, is a round trip.
     */
    POSTGRESQL(
        0,
        5,
        (header) ->
            header[0] == 0 ? number(header, 0, 1, 2, 3) - 5 : number(header, 1, 2, 3, 4) - 4,
        (header) -> header[0] == 'Q' || header[0] == 'S',
        (header) -> header[0] == 'Q' || header[0] == 'P');

    private final int preface;

    private final int header;

    private final ToLongFunction<byte[]> length;

    private final Predicate<byte[]> isRequest;

    private final Predicate<byte[]> hasText;

    Protocol(int preface, int header, ToLongFunction<byte[]> length, Predicate<byte[]> isRequest) {
      this(preface, header, length, isRequest, isRequest);
    }

    Protocol(
        int preface,
        int header,
        ToLongFunction<byte[]> length,
        Predicate<byte[]> isRequest,
        Predicate<byte[]> hasText) {
      this.preface = preface;
      this.header = header;
      this.length = length;
      this.isRequest = isRequest;
      this.hasText = hasText;
    }

    private static long number(byte[] bytes, int... indices) {
      long number = 0;
      for (int index : indices) {
        number = (number << 8) | (bytes[index] & 0xFF);
      }
      return number;
    }
  }

  private final Protocol protocol;

  private final Consumer<String> texts;

  private final byte[] header;

  /** The part of a request's content that was read. */
  private final ByteArrayOutputStream content = new ByteArrayOutputStream();

  private boolean reads;

  private int headerBytes;

  private long skip;

  /** Creates a counter for one connection. */
  public Requests(Protocol protocol) {
    this(protocol, (text) -> {});
  }

  /**
   * Creates a counter for one connection.
   *
   * @param texts receives the text of each request, once all of it was sent
   */
  public Requests(Protocol protocol, Consumer<String> texts) {
    this.protocol = protocol;
    this.texts = texts;
    this.header = new byte[protocol.header];
    this.skip = protocol.preface;
  }

  /** Returns the number of requests whose header ends in these bytes. */
  @Override
  public int applyAsInt(byte[] bytes) {
    int count = 0;
    int at = 0;
    while (at < bytes.length) {
      if (this.skip > 0) {
        int step = (int) Math.min(this.skip, bytes.length - at);
        read(bytes, at, step);
        this.skip -= step;
        at += step;
      } else {
        this.header[this.headerBytes++] = bytes[at++];
        if (this.headerBytes == this.header.length) {
          this.headerBytes = 0;
          this.skip = this.protocol.length.applyAsLong(this.header);
          count += this.protocol.isRequest.test(this.header) ? 1 : 0;
          this.reads = this.skip > 0 && this.protocol.hasText.test(this.header);
        }
      }
    }
    return count;
  }

  private void read(byte[] bytes, int from, int length) {
    if (this.reads) {
      this.content.write(bytes, from, length);
      if (length == this.skip) {
        this.texts.accept(this.content.toString(ISO_8859_1));
        this.content.reset();
        this.reads = false;
      }
    }
  }
}
