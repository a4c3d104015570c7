package io.election.faults;

import jakarta.jms.ConnectionFactory;
import java.util.List;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.artemis.autoconfigure.ArtemisAutoConfiguration;
import org.springframework.boot.jms.autoconfigure.JmsAutoConfiguration;
import org.springframework.boot.jms.autoconfigure.SimpleJmsListenerContainerFactoryConfigurer;
import org.springframework.context.ApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.config.SimpleJmsListenerContainerFactory;
import org.springframework.jms.connection.CachingConnectionFactory;
import org.springframework.jms.core.JmsTemplate;

class JmsListenerIT extends ListenerContract {

  private static final EmbeddedActiveMQ BROKER = new EmbeddedActiveMQ();

  private static String url;

  private static JmsTemplate producer;

  @BeforeAll
  static void startBroker() throws Exception {
    Configuration configuration = new ConfigurationImpl()
        .setPersistenceEnabled(false)
        .setSecurityEnabled(false)
        .addAcceptorConfiguration("tcp", "tcp://127.0.0.1:0");
    BROKER.setConfiguration(configuration).start();
    int port =
        BROKER.getActiveMQServer().getRemotingService().getAcceptor("tcp").getActualPort();
    url = "tcp://127.0.0.1:" + port;
    ConnectionFactory connections =
        new CachingConnectionFactory(new ActiveMQConnectionFactory(url));
    producer = new JmsTemplate(connections);
  }

  @AfterAll
  static void stopBroker() throws Exception {
    ((CachingConnectionFactory) producer.getConnectionFactory()).destroy();
    BROKER.stop();
  }

  @Override
  List<String> properties() {
    return List.of(
        "spring.main.sources=" + Invoices.class.getName(),
        "as.election.leader-bound.listeners=invoices",
        "spring.artemis.mode=native",
        "spring.artemis.broker-url=" + url);
  }

  @Override
  Lifecycle container(ApplicationContext node) {
    return node.getBean(JmsListenerEndpointRegistry.class).getListenerContainer("invoices");
  }

  @Override
  void send(String message) {
    producer.convertAndSend("invoices", message);
  }

  @Test
  @Tag("faults")
  void aSimpleContainerHandsOver() throws Exception {
    handOver(
        // Before the auto-configuration, which has a factory of its own unless there is one.
        "spring.main.sources=" + SimpleContainers.class.getName() + "," + Invoices.class.getName(),
        // Its consumers stay, and would keep what they have fetched.
        "spring.artemis.broker-url=" + url + "?consumerWindowSize=0");
  }

  @org.springframework.context.annotation.Configuration(proxyBeanMethods = false)
  static class SimpleContainers {

    @Bean
    SimpleJmsListenerContainerFactory jmsListenerContainerFactory(
        ConnectionFactory connections, SimpleJmsListenerContainerFactoryConfigurer configurer) {
      SimpleJmsListenerContainerFactory factory = new SimpleJmsListenerContainerFactory();
      configurer.configure(factory, connections);
      return factory;
    }
  }

  @org.springframework.context.annotation.Configuration(proxyBeanMethods = false)
  @Import({Handlings.class, ArtemisAutoConfiguration.class, JmsAutoConfiguration.class})
  record Invoices(Handlings handlings) {

    @JmsListener(id = "invoices", destination = "invoices")
    void handle(String message) {
      this.handlings.handle(message);
    }
  }
}
