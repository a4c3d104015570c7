package io.election.autoconfigure;

import io.election.ElectionSetupException;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/** Checks the settings of a store. Used within the auto-configuration. */
public final class StoreSettings {

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

  /** The failure of a start whose property the store refused. */
  public static InvalidConfigurationPropertyValueException invalid(
      String property, String value, ElectionSetupException refusal) {
    return new InvalidConfigurationPropertyValueException(
        property, value, refusal.found() + " " + refusal.remedy(), refusal);
  }

  /**
   * Returns a store, which answers if {@code as.election.fail-fast} is set.
   *
   * @throws LeaseStoreException if it is set, and the store does not answer
   */
  public static LeaseStore reachable(
      LeaseStore store, ElectionProperties properties, Environment environment)
      throws LeaseStoreException {
    if (properties.failFast()) {
      try {
        store.read(Set.of(ElectionNames.from(environment).defaultName()));
      } catch (LeaseStoreException ex) {
        store.close();
        throw ex;
      }
    }
    return store;
  }
}
