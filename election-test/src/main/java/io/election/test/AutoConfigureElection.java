package io.election.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.Import;

/**
 * Replaces each election of a Spring Boot test with a {@link ScriptedElection}: one with the name of
 * the application, or with {@code as.election.service-id}, and one for each name in
 * {@code as.election.services}. The elections of the test need no database.
 *
 * <pre>{@code
 * @SpringBootTest
 * @AutoConfigureElection
 * class BillingTest {
 *
 *   @Autowired ScriptedElection election;
 *
 *   @Test
 *   void billsAreSentByTheLeader() {
 *     election.lead();
 *     …
 *   }
 * }
 * }</pre>
 *
 * <p>Also for tests of a part of the application, such as {@code @DataJpaTest}: without it such a test
 * fails if it has a bean with {@code @LeaderOnly} or {@code @LeaderBound}, because it has no
 * election.
 *
 * <p>Initially no node leads. Inject a further election by its name:
 * {@code @Autowired @Qualifier("reports") ScriptedElection reports}.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Import(AutoConfigureElectionRegistrar.class)
@ImportAutoConfiguration
public @interface AutoConfigureElection {}
