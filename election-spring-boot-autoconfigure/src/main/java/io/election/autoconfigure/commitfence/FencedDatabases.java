package io.election.autoconfigure.commitfence;

import java.util.List;

/** The databases in which commits are fenced. Used within the auto-configuration. */
public interface FencedDatabases {

  /** Returns one, or with a list of two stores in databases one for each; none without a fence. */
  List<FencedDatabase> fenced();

  /** Returns the property that switches the fence off, or the properties, for display. */
  String setting();
}
