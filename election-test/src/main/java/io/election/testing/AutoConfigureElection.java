package io.election.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;

/**
 * Makes each election of a Spring Boot test a {@link DecidedElection}: one by the name of the application,
 * or by {@code as.election.service-id}, and one for each name in {@code as.election.services}. The test
 * needs no database for them.
 *
 * <pre>{@code
 * @SpringBootTest
 * @AutoConfigureElection
 * class BillingTest {
 *
 *   @Autowired DecidedElection election;
 *
 *   @Test
 *   void billsAreSentByTheLeader() {
 *     election.lead();
 *     …
 *   }
 * }
 * }</pre>
 *
 * <p>Nobody leads at first. A further election is injected by its name: {@code @Autowired
 * @Qualifier("reports") DecidedElection reports}.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Import(AutoConfigureElectionRegistrar.class)
public @interface AutoConfigureElection {}
