package io.election.autoconfigure.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Conditional;

/** Matches if a setting that is on by default has the given value. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(OnElectionSettingCondition.class)
public @interface ConditionalOnElectionSetting {

  /** The name of the property. */
  String value();

  /** Whether the setting must be on, or off. */
  boolean on() default true;
}
