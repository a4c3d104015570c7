package io.election.autoconfigure.settings;

import java.util.List;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Marks the contexts that Spring's TestContext framework makes, which alone asks for customizers.
 * That the framework is on the class path says nothing: it may be there in production.
 */
final class TestContextMark implements ContextCustomizerFactory {

  @Override
  public ContextCustomizer createContextCustomizer(
      Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
    return Mark.MARK;
  }

  /** Equal in all tests, so that they share their contexts as before. */
  private enum Mark implements ContextCustomizer {
    MARK;

    @Override
    public void customizeContext(
        ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
      context.getBeanFactory().registerSingleton(TestInMemory.MARK, this);
    }
  }
}
