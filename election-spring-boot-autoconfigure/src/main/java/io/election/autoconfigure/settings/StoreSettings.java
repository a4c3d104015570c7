package io.election.autoconfigure.settings;

import io.election.ElectionSetupException;
import io.election.Names;
import io.election.lease.Precedence;
import io.election.store.InvalidLeaseSettingException;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** Checks the settings of a store. Used within the auto-configuration. */
public final class StoreSettings {

  private static final String HOLD_BACK = "as.election.hold-back";

  private StoreSettings() {}

  /**
   * Returns a value that must be set.
   *
   * @throws InvalidConfigurationPropertyValueException if it is missing or blank
   */
  public static String required(String property, @Nullable String value, String reason) {
    if (value == null || !StringUtils.hasText(value)) {
      throw new InvalidConfigurationPropertyValueException(property, value, reason);
    }
    return value;
  }

  /**
   * Checks that user and password are both set, or neither.
   *
   * @param prefix the beginning of both properties
   * @return the user; empty if there is none
   * @throws InvalidConfigurationPropertyValueException if one of them is missing
   */
  public static String user(String prefix, @Nullable String username, @Nullable String password) {
    boolean user = StringUtils.hasLength(username);
    if (user != StringUtils.hasLength(password)) {
      String missing = prefix + (user ? ".password" : ".username");
      throw new InvalidConfigurationPropertyValueException(
          missing,
          user ? password : username,
          "%s is set, and the server needs both; set %s too, or remove the other"
              .formatted(prefix + (user ? ".username" : ".password"), missing));
    }
    return user && username != null ? username : "";
  }

  /**
   * Returns the certificates of connections.
   *
   * @param prefix the beginning of the property {@code ssl.bundle}
   * @return {@code null} if it is not set
   * @throws InvalidConfigurationPropertyValueException if there is no such bundle
   */
  public static @Nullable SslBundle bundle(
      String prefix, ElectionProperties.Ssl ssl, ObjectProvider<SslBundles> bundles) {
    String name = ssl.bundle();
    if (name == null) {
      return null;
    }
    SslBundles all = bundles.getIfAvailable();
    try {
      if (all != null) {
        return all.getBundle(name);
      }
    } catch (NoSuchSslBundleException ex) {
      // Reported below.
    }
    throw new InvalidConfigurationPropertyValueException(
        prefix + ".ssl.bundle",
        name,
        "there is no such SSL bundle; define it in spring.ssl.bundle.pem or spring.ssl.bundle.jks");
  }

  /**
   * Returns how this node holds its leases.
   *
   * @throws InvalidConfigurationPropertyValueException if a setting breaks a rule
   */
  public static LeaseSettings lease(ElectionProperties properties, Environment environment) {
    String label = Objects.requireNonNullElse(properties.label(), "");
    String problem = label.isEmpty() ? null : Names.problem(label);
    if (problem != null) {
      throw new InvalidConfigurationPropertyValueException(
          "as.election.label", Names.printable(label), "it " + problem);
    }
    try {
      return new LeaseSettings(
          properties.leaseDuration(),
          properties.renewInterval(),
          properties.operationTimeout(),
          properties.drainTimeout(environment),
          properties.eligible(),
          properties.historyRetention(),
          label);
    } catch (InvalidLeaseSettingException ex) {
      String name = "as.election." + ex.setting();
      Object written = InvalidElectionPropertyFailureAnalyzer.asWritten(environment, name);
      throw new InvalidConfigurationPropertyValueException(
          name, written != null ? written : text(ex.value()), ex.rule(), ex);
    }
  }

  /**
   * Returns how long one call to one store may take: its share, if a list names several parts, which
   * are called one after the other.
   */
  public static Duration operationTimeout(LeaseSettings settings, Environment environment) {
    long stores = ElectionAlgorithm.all(environment).stream()
        .filter((algorithm) -> !algorithm.is(ElectionAlgorithm.MANUAL_ALLOCATION))
        .count();
    return settings.operationTimeout().dividedBy(Math.max(1, stores));
  }

  /**
   * Returns who goes first in the elections of this node.
   *
   * @param beans the bean of the application that decides, if there is one
   * @throws InvalidConfigurationPropertyValueException if {@code as.election.hold-back} cannot be
   *     used, or is set beside such a bean
   */
  public static Precedence precedence(
      ElectionProperties properties, ObjectProvider<Precedence> beans) {
    Precedence bean = beans.getIfAvailable();
    Duration holdBack = properties.holdBack();
    if (holdBack.isNegative() || holdBack.compareTo(Duration.ofHours(1)) > 0) {
      throw new InvalidConfigurationPropertyValueException(
          HOLD_BACK, text(holdBack), "it must be from 0s to 1h");
    }
    if (bean != null && !holdBack.isZero()) {
      throw new InvalidConfigurationPropertyValueException(
          HOLD_BACK,
          text(holdBack),
          "the bean of type %s decides who goes first; remove the property, or the bean"
              .formatted(bean.getClass().getName()));
    }
    if (bean != null) {
      return bean;
    }
    return holdBack.isZero() ? Precedence.NONE : Precedence.holdBack(holdBack);
  }

  /**
   * Returns for how long a leader may be without its leader-bound beans.
   *
   * @throws InvalidConfigurationPropertyValueException if it is out of range
   */
  public static Duration startTimeout(ElectionProperties properties) {
    Duration timeout = properties.leaderBound().startTimeout();
    if (timeout.compareTo(Duration.ofSeconds(1)) < 0 || timeout.compareTo(Duration.ofDays(1)) > 0) {
      throw new InvalidConfigurationPropertyValueException(
          "as.election.leader-bound.start-timeout", text(timeout), "it must be from 1s to 1d");
    }
    return timeout;
  }

  /** A default in the notation of the configuration. */
  private static String text(Duration duration) {
    return DurationStyle.SIMPLE.print(
        duration, duration.toMillisPart() == 0 ? ChronoUnit.SECONDS : ChronoUnit.MILLIS);
  }

  /** The failure of a start whose property the store refused. */
  public static InvalidConfigurationPropertyValueException invalid(
      String property, String value, ElectionSetupException refusal) {
    return new InvalidConfigurationPropertyValueException(
        property, value, refusal.found() + " " + refusal.remedy(), refusal);
  }

  /**
   * Returns a store, which answers if {@code as.election.fail-fast} is set. It is closed then, since
   * nobody else would close it if the elector never starts; its next call connects again.
   *
   * @throws LeaseStoreException if it is set, and the store does not answer
   */
  public static LeaseStore reachable(
      LeaseStore store, ElectionProperties properties, Environment environment)
      throws LeaseStoreException {
    if (properties.failFast()) {
      try {
        store.read(Set.of(ElectionNames.from(environment).defaultName()));
      } finally {
        store.close();
      }
    }
    return store;
  }
}
