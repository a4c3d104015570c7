package io.election.benchmarks.servers;

import java.util.function.ToIntFunction;

/** Counts the requests of a client on one connection, from the bytes that it sends. */
final class Requests implements ToIntFunction<byte[]> {

  /** How to recognize a request. */
  enum Protocol {
    /** A length of three bytes and a number. A packet with number 0 is a command. */
    MYSQL(0, 4) {
      @Override
      long length(byte[] header) {
        return byteAt(header, 0) | byteAt(header, 1) << 8 | byteAt(header, 2) << 16;
      }

      @Override
      boolean isRequest(byte[] header) {
        return header[3] == 0;
      }
    },
    /** A length of four bytes. All packets are requests, including pings. */
    ZOOKEEPER(0, 4) {
      @Override
      long length(byte[] header) {
        return byteAt(header, 0) << 24
            | byteAt(header, 1) << 16
            | byteAt(header, 2) << 8
            | byteAt(header, 3);
      }

      @Override
      boolean isRequest(byte[] header) {
        return true;
      }
    },
    /** A preface, then frames. Each data frame that is not empty is a gRPC message. */
    HTTP_2(24, 9) {
      @Override
      long length(byte[] header) {
        return byteAt(header, 0) << 16 | byteAt(header, 1) << 8 | byteAt(header, 2);
      }

      @Override
      boolean isRequest(byte[] header) {
        return header[3] == 0 && length(header) > 0;
      }
    };

    private final int preface;

    private final int header;

    Protocol(int preface, int header) {
      this.preface = preface;
      this.header = header;
    }

    abstract long length(byte[] header);

    abstract boolean isRequest(byte[] header);

    private static long byteAt(byte[] bytes, int index) {
      return bytes[index] & 0xFF;
    }
  }

  private final Protocol protocol;

  private final byte[] header;

  private int headerBytes;

  private long skip;

  /** Creates a counter for one connection. */
  Requests(Protocol protocol) {
    this.protocol = protocol;
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
        this.skip -= step;
        at += step;
      } else {
        this.header[this.headerBytes++] = bytes[at++];
        if (this.headerBytes == this.header.length) {
          this.headerBytes = 0;
          this.skip = this.protocol.length(this.header);
          if (this.protocol.isRequest(this.header)) {
            count++;
          }
        }
      }
    }
    return count;
  }
}
