package io.election.autoconfigure.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Conditional;

/** Matches if there is an election and {@code as.election.algorithm} names one of the given algorithms. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(OnElectionAlgorithmCondition.class)
public @interface ConditionalOnElectionAlgorithm {

  /** The names of the algorithms. */
  String[] value();
}
