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
import org.springframework.boot.artemis.autoconfigure.ArtemisAutoConfiguration;
import org.springframework.boot.jms.autoconfigure.JmsAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Import;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.config.JmsListenerEndpointRegistry;
import org.springframework.jms.connection.CachingConnectionFactory;
import org.springframework.jms.core.JmsTemplate;

@Tag("long")
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
        "spring.threads.virtual.enabled=true",
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

  @org.springframework.context.annotation.Configuration(proxyBeanMethods = false)
  @Import({Handlings.class, ArtemisAutoConfiguration.class, JmsAutoConfiguration.class})
  record Invoices(Handlings handlings) {

    @JmsListener(id = "invoices", destination = "invoices")
    void handle(String message) {
      this.handlings.handle(message);
    }
  }
}
