package io.election.keyvalue;

import io.election.PastTerm;
import io.election.keyvalue.KeyValueServer.Delete;
import io.election.keyvalue.KeyValueServer.Folder;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseStoreException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads the keys of past terms, for display and for their deletion. */
final class TermHistory {

  private final KeyValueServer server;

  TermHistory(KeyValueServer server) {
    this.server = server;
  }

  /** Returns the last terms of each election that has a history, the newest first. */
  Map<String, List<PastTerm>> read(Set<String> serviceIds) throws LeaseStoreException {
    Map<String, List<PastTerm>> histories = new LinkedHashMap<>();
    terms(serviceIds, ElectionDirectory.HISTORY_LENGTH).forEach((id, view) -> {
      List<PastTerm> terms = new ArrayList<>();
      view.terms().descendingMap().forEach((number, found) -> {
        if (found.term().leader() != null) {
          terms.add(found.term().entry(number));
        }
      });
      if (!terms.isEmpty()) {
        histories.put(id, terms);
      }
    });
    return histories;
  }

  /**
   * Returns the deletions of old terms.
   *
   * @param belowTerms the elections, each with the lowest term to keep
   * @param oldest the end of a term to keep, in milliseconds since the epoch
   */
  List<Write> outdated(Map<String, Long> belowTerms, long oldest) throws LeaseStoreException {
    List<Write> deletions = new ArrayList<>();
    terms(belowTerms.keySet(), Integer.MAX_VALUE)
        .forEach((id, view) -> view.terms()
            .headMap(belowTerms.getOrDefault(id, 0L))
            .forEach((number, found) -> {
              Long until = found.term().until();
              if (until != null && until < oldest) {
                deletions.add(new Delete(Keys.term(id, number), found.entry().version()));
              }
            }));
    return deletions;
  }

  private Map<String, ElectionReading> terms(Set<String> serviceIds, int newest)
      throws LeaseStoreException {
    if (serviceIds.isEmpty()) {
      return Map.of();
    }
    Set<Folder> folders = new HashSet<>();
    serviceIds.forEach((id) -> folders.add(new Folder(Keys.terms(id), newest)));
    Snapshot snapshot = this.server.read(new Query(Set.of(), folders, false));
    Map<String, ElectionReading> views = new LinkedHashMap<>();
    serviceIds.forEach((id) -> views.put(id, ElectionReading.of(id, snapshot, true)));
    return views;
  }
}
