package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import io.election.autoconfigure.commitfence.FencedDatabase;
import io.election.autoconfigure.jdbc.ElectionDataSourceResolver.Found;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.ElectionProperties.Jdbc.SchemaMode;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.jdbc.CommitFence;
import io.election.jdbc.JdbcLeaseStore;
import io.election.jdbc.JdbcUrl;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

/** The database of a store, which is found when it is first needed. */
final class StoreDatabase implements FencedDatabase {

  private static final Logger log = LoggerFactory.getLogger(StoreDatabase.class);

  private static final String FLYWAY = "org.flywaydb.database.mysql.MySQLDatabaseType";

  private final ElectionDataSourceResolver resolver;

  private final @Nullable DatabaseProduct named;

  private final LeaseSettings lease;

  private final ElectionProperties properties;

  private final Environment environment;

  private final Supplier<Found> found;

  private final Supplier<CommitFence> fence;

  private volatile @Nullable LeaseStore store;

  /**
   * Creates it.
   *
   * @param named the product that the configuration names; {@code null} if the URL decides
   */
  StoreDatabase(
      ElectionDataSourceResolver resolver,
      @Nullable DatabaseProduct named,
      LeaseSettings lease,
      ElectionProperties properties,
      Environment environment) {
    this.resolver = resolver;
    this.named = named;
    this.lease = lease;
    this.properties = properties;
    this.environment = environment;
    this.found = SingletonSupplier.of(resolver::find);
    this.fence = SingletonSupplier.of(
        () -> new CommitFence(lease.renewInterval(), this.found.get().database()));
  }

  /** Whether the configuration wants it for a product, or names none. */
  boolean isFor(DatabaseProduct product) {
    return this.named == null || this.named == product;
  }

  /**
   * Creates the store, whose tables are ready if the database answers.
   *
   * @throws ElectionSetupException if the database cannot be used
   * @throws LeaseStoreException if it does not answer, and {@code as.election.fail-fast} is set
   */
  LeaseStore store() throws LeaseStoreException {
    Found found = this.found.get();
    DatabaseProduct product = product();
    if (this.named == null && found.url() != null) {
      log.info(
          "as.election.algorithm is {} by default, as the election's database is {}",
          product.algorithm(),
          new JdbcUrl(found.url()).describe());
    }
    ElectionProperties.Jdbc settings = settings();
    if (product == DatabaseProduct.MYSQL
        && settings.schema() == SchemaMode.MIGRATE
        && !ClassUtils.isPresent(FLYWAY, ClassUtils.getDefaultClassLoader())) {
      throw new ElectionSetupException(
          "Flyway, which creates the tables of the election, lacks its part for MySQL and MariaDB.",
          "Add org.flywaydb:flyway-mysql, or set as.election.mysql.schema=validate and create the tables otherwise.");
    }
    JdbcLeaseStore store = new JdbcLeaseStore(
        found.database(),
        JdbcLeaseStore.SchemaMode.valueOf(settings.schema().name()),
        StoreSettings.operationTimeout(this.lease, this.environment),
        this.lease.renewInterval(),
        settings.handBackSignals());
    try {
      store.ensureTables();
      requireNamed(store);
    } catch (LeaseStoreException ex) {
      if (this.properties.failFast()) {
        throw ex;
      }
      log.warn(
          "{} This node starts as a follower and joins the election as soon as the database answers; set as.election.fail-fast=true to end the start instead",
          ex.getMessage());
      log.debug("The tables of the election are not ready yet", ex);
    }
    this.store = store;
    return store;
  }

  /** A source that exposes no URL shows its product when it connects. */
  private void requireNamed(LeaseStore store) {
    DatabaseProduct product = DatabaseProduct.ofAlgorithm(store.name());
    if (this.named != null && product != this.named) {
      store.close();
      throw ElectionDataSourceResolver.otherThanNamed(
          this.named, product, "the DataSource is " + product.label() + ".");
    }
  }

  /** The settings of the database's product. */
  ElectionProperties.Jdbc settings() {
    return product() == DatabaseProduct.POSTGRESQL
        ? this.properties.postgresql()
        : this.properties.mysql();
  }

  /**
   * The named product, or that of the URL. If none is known, that to which the store is connected,
   * or the default.
   */
  DatabaseProduct product() {
    String url = this.found.get().url();
    DatabaseProduct known =
        this.named == null && url != null ? DatabaseProduct.of(url) : this.named;
    if (known != null) {
      return known;
    }
    LeaseStore store = this.store;
    return DatabaseProduct.ofAlgorithm(
        store != null ? store.name() : ElectionAlgorithm.of(this.environment).name());
  }

  @Override
  public boolean isShared(DataSource dataSource) {
    return this.resolver.isShared(dataSource);
  }

  @Override
  public boolean isLike(String url) {
    DatabaseProduct other = DatabaseProduct.of(url);
    return other == null || other == product();
  }

  @Override
  public CommitFence fence() {
    return this.fence.get();
  }
}
