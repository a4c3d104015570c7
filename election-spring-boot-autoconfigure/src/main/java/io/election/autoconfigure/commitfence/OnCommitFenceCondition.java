package io.election.autoconfigure.commitfence;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Matches if the commit fence is on for one of the databases of the election. Without a name both
 * products count, because the database shows only later which one it is.
 */
final class OnCommitFenceCondition extends SpringBootCondition {

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    Binder binder = Binder.get(context.getEnvironment());
    Environment environment = context.getEnvironment();
    List<String> named = ElectionAlgorithm.names(environment);
    List<String> fenced = Stream.of(ElectionAlgorithm.MYSQL, ElectionAlgorithm.POSTGRESQL)
        .filter((name) -> named.contains(name) || !ElectionAlgorithm.isNamed(environment))
        .map((name) -> "as.election." + name.toLowerCase(Locale.ROOT) + ".commit-fence")
        .filter((setting) -> binder.bind(setting, boolean.class).orElse(true))
        .toList();
    return new ConditionOutcome(
        !fenced.isEmpty(),
        ConditionMessage.forCondition("CommitFence")
            .found("setting that is on", "settings that are on")
            .items(fenced));
  }
}
