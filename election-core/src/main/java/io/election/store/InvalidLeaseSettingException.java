package io.election.store;

import java.time.Duration;

/** Thrown when a setting of the lease is out of range. */
public class InvalidLeaseSettingException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  private final String setting;

  private final Duration value;

  private final String rule;

  InvalidLeaseSettingException(String setting, Duration value, String rule) {
    super(setting + " is " + value + ", but " + rule);
    this.setting = setting;
    this.value = value;
    this.rule = rule;
  }

  /**
   * Returns the name of the setting.
   *
   * @return the name in lower case with dashes, for instance {@code lease-duration}
   */
  public String setting() {
    return this.setting;
  }

  /**
   * Returns the rejected value.
   *
   * @return the value
   */
  public Duration value() {
    return this.value;
  }

  /**
   * Returns the rule that the value violates, and the remedy.
   *
   * @return a sentence
   */
  public String rule() {
    return this.rule;
  }
}
