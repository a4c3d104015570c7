package io.election.autoconfigure.commitfence;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.List;
import java.util.Locale;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if the commit fence is on for one of the databases of the election. */
final class OnCommitFenceCondition extends SpringBootCondition {

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    Binder binder = Binder.get(context.getEnvironment());
    List<String> fenced = ElectionAlgorithm.names(context.getEnvironment()).stream()
        .filter((name) ->
            name.equals(ElectionAlgorithm.MYSQL) || name.equals(ElectionAlgorithm.POSTGRESQL))
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
