package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Delete;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseStoreException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What each server of keys does with writes whose keys are not as expected. */
public final class ConditionalWrites {

  private static final String KEY = "~tests/key";

  private final KeyValueServer server;

  private ConditionalWrites(KeyValueServer server) {
    this.server = server;
  }

  /** Writes to a key that does not exist yet. */
  public static void areRefused(KeyValueServer server) throws LeaseStoreException {
    new ConditionalWrites(server).areRefused();
  }

  private void areRefused() throws LeaseStoreException {
    this.server.begin();
    assertThat(commit(new Create(KEY, "1"))).isTrue();
    Version first = entry().version();
    assertThat(commit(new Create(KEY, "2"))).as("a second creation").isFalse();
    assertThat(commit(new Put(KEY, "3", first))).isTrue();
    assertThat(commit(new Put(KEY, "4", first))).as("a late write").isFalse();
    assertThat(commit(new Delete(KEY, first))).as("a late deletion").isFalse();
    assertThat(this.server.commit(
            new Commit(Map.of(KEY, first), List.of(new Create("~tests/other", "")), 0)))
        .as("a write with a check that is not met")
        .isEmpty();
    assertThat(entry().value()).isEqualTo("3");
    assertThat(commit(new Delete(KEY, entry().version()))).isTrue();
  }

  private boolean commit(Write write) throws LeaseStoreException {
    return this.server.commit(new Commit(Map.of(), List.of(write), 0)).isPresent();
  }

  private Entry entry() throws LeaseStoreException {
    return this.server.read(new Query(Set.of(KEY), Set.of(), true)).entries().get(KEY);
  }
}
