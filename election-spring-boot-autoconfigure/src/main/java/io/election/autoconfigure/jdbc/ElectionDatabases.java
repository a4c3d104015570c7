package io.election.autoconfigure.jdbc;

import io.election.autoconfigure.commitfence.FencedDatabase;
import io.election.autoconfigure.commitfence.FencedDatabases;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.UnknownProperties;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;

/**
 * The databases of the stores that the configuration names: one, or with a list of both products one
 * of each. Without a name there is one, whose URL decides what it is.
 */
final class ElectionDatabases implements FencedDatabases {

  private final Environment environment;

  private final List<StoreDatabase> databases = new ArrayList<>();

  /**
   * Creates the databases.
   *
   * @param databases creates the one of a product; {@code null} asks for that of the URL
   */
  ElectionDatabases(
      Environment environment, Function<@Nullable DatabaseProduct, StoreDatabase> databases) {
    this.environment = environment;
    if (!ElectionAlgorithm.isNamed(environment)) {
      this.databases.add(databases.apply(null));
      return;
    }
    List<String> names = ElectionAlgorithm.names(environment);
    for (DatabaseProduct product : DatabaseProduct.values()) {
      if (names.contains(product.algorithm())) {
        this.databases.add(databases.apply(product));
      }
    }
  }

  /** Creates the store of a product, or that of the only database. */
  LeaseStore store(DatabaseProduct product) throws LeaseStoreException {
    LeaseStore store = this.databases.stream()
        .filter((database) -> database.isFor(product))
        .findFirst()
        .orElseThrow()
        .store();
    warnOfUnused();
    return store;
  }

  private void warnOfUnused() {
    List<DatabaseProduct> used =
        this.databases.stream().map(StoreDatabase::product).toList();
    Stream.of(DatabaseProduct.values())
        .filter((product) -> !used.contains(product))
        .forEach((product) -> UnknownProperties.warnOfUnused(
            this.environment, product.prefix(), "the election is not by " + product.label()));
  }

  @Override
  public String setting() {
    return this.databases.stream()
        .map((database) -> database.product().prefix() + ".commit-fence")
        .collect(Collectors.joining(" or "));
  }

  StoreDatabase first() {
    return this.databases.get(0);
  }

  @Override
  public List<FencedDatabase> fenced() {
    return this.databases.stream()
        .filter((database) -> database.settings().commitFence())
        .map(FencedDatabase.class::cast)
        .toList();
  }
}
