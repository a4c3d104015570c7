package io.election.lease;

import java.time.Duration;

/** A setting of the lease cannot be used. */
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
   * The setting.
   *
   * @return its name in lower case with dashes, for instance {@code lease-duration}
   */
  public String setting() {
    return this.setting;
  }

  /**
   * The value that was refused.
   *
   * @return the value
   */
  public Duration value() {
    return this.value;
  }

  /**
   * The rule that the value breaks, and the remedy.
   *
   * @return a sentence
   */
  public String rule() {
    return this.rule;
  }
}
