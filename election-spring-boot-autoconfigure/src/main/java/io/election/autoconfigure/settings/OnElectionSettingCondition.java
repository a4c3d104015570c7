package io.election.autoconfigure.settings;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Condition behind {@link ConditionalOnElectionSetting}. Binds the property as {@link
 * ElectionProperties} does, so that {@code on}, {@code yes} and {@code 1} are true. Conditions that
 * compare text do not support these values.
 */
final class OnElectionSettingCondition extends SpringBootCondition
    implements ConfigurationCondition {

  private static final String ENABLED = "as.election.enabled";

  private static final Bindable<Boolean> SWITCH = Bindable.of(boolean.class);

  /** When the beans of the database are registered. */
  @Override
  public ConfigurationPhase getConfigurationPhase() {
    return ConfigurationPhase.REGISTER_BEAN;
  }

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    MergedAnnotation<ConditionalOnElectionSetting> wanted =
        metadata.getAnnotations().get(ConditionalOnElectionSetting.class);
    String name = wanted.getString("value");
    boolean on = name.equals(ENABLED) ? isEnabled(context) : isOn(context.getEnvironment(), name);
    return new ConditionOutcome(
        on == wanted.getBoolean("on"),
        ConditionMessage.forCondition(ConditionalOnElectionSetting.class)
            .because(name + " is " + on));
  }

  /** Returns whether there is an election. */
  static boolean isEnabled(ConditionContext context) {
    return isOn(context.getEnvironment(), ENABLED) && !TestInMemory.is(context);
  }

  /** Returns whether a setting that is on by default is on. */
  static boolean isOn(Environment environment, String name) {
    return Binder.get(environment).bind(name, SWITCH).orElse(true);
  }
}
