package io.election.autoconfigure.commitfence;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if the commit fence is on for one of the databases of the election. */
final class OnCommitFenceCondition extends SpringBootCondition {

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    return new ConditionOutcome(
        ElectionAlgorithm.hasCommitFence(context.getEnvironment()),
        ConditionMessage.forCondition("CommitFence").because("of the setting commit-fence"));
  }
}
