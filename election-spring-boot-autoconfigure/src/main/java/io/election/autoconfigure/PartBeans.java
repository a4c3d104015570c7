package io.election.autoconfigure;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/**
 * The services of the application that are parts of an election by a list, and no elections. Used
 * within the auto-configuration.
 */
public final class PartBeans {

  private static final String ATTRIBUTE = PartBeans.class.getName();

  private PartBeans() {}

  /** Marks a bean as a part, which is injected only by its name and replaces no election. */
  public static void mark(BeanDefinition definition) {
    definition.setAttribute(ATTRIBUTE, true);
    definition.setPrimary(false);
    if (definition instanceof AbstractBeanDefinition bean) {
      bean.setDefaultCandidate(false);
    }
  }

  /** Returns whether a bean is marked as a part, in this context or above it. */
  public static boolean contains(BeanFactory beanFactory, String beanName) {
    for (BeanFactory each = beanFactory;
        each instanceof ConfigurableListableBeanFactory beans;
        each = beans.getParentBeanFactory()) {
      if (beans.containsBeanDefinition(beanName)) {
        return beans.getBeanDefinition(beanName).hasAttribute(ATTRIBUTE);
      }
    }
    return false;
  }
}
