package io.election.autoconfigure.joint;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if {@code as.election.algorithm} names several parts. */
final class OnListCondition extends SpringBootCondition {

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    List<String> names = ElectionAlgorithm.names(context.getEnvironment());
    return new ConditionOutcome(
        names.size() > 1,
        ConditionMessage.forCondition("ElectionParts").found("name", "names").items(names));
  }
}
