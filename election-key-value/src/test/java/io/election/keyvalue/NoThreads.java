package io.election.keyvalue;

/** While it is set on a thread, that thread cannot create others. */
public final class NoThreads extends InheritableThreadLocal<String> {

  @Override
  protected String childValue(String value) {
    throw new OutOfMemoryError("unable to create native thread");
  }
}
