package io.election.faults;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.faults.JmsListenerIT.Invoices;
import io.election.support.TestDatabase;
import java.util.List;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;
import org.springframework.kafka.test.utils.KafkaTestUtils;

class KafkaListenerIT extends ListenerContract {

  private static final EmbeddedKafkaKraftBroker BROKER =
      new EmbeddedKafkaKraftBroker(1, 1, "orders");

  @AutoClose
  private static Producer<String, String> producer;

  @BeforeAll
  static void startBroker() {
    BROKER.afterPropertiesSet();
    producer = new KafkaProducer<>(
        KafkaTestUtils.producerProps(BROKER), new StringSerializer(), new StringSerializer());
  }

  @AfterAll
  static void stopBroker() {
    BROKER.destroy();
  }

  @Override
  List<String> properties() {
    return List.of(
        "spring.main.sources=" + Orders.class.getName(),
        "as.election.leader-bound.listeners=orders",
        "spring.kafka.bootstrap-servers=" + BROKER.getBrokersAsString(),
        "spring.kafka.consumer.auto-offset-reset=earliest",
        // One runs at a time, so all may be the same member of the group, which the last one
        // replaces.
        "spring.kafka.consumer.properties.group.instance.id=orders",
        "spring.kafka.listener.ack-mode=manual_immediate",
        // By default a stop first handles all records that were fetched.
        "spring.kafka.listener.immediate-stop=true");
  }

  @Override
  Lifecycle container(ApplicationContext node) {
    return node.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer("orders");
  }

  @Override
  void send(String message) {
    try {
      producer.send(new ProducerRecord<>("orders", message)).get();
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
  }

  @Test
  void anUnknownIdIsRefusedWithThoseThatAreThere() {
    assertThatThrownBy(() -> SamplingNode.run(
            TestDatabase.newDatabase(),
            "spring.main.sources=" + Orders.class.getName() + "," + Invoices.class.getName(),
            "spring.artemis.mode=native",
            "test.handlings=none",
            "as.election.leader-bound.listeners=orders, invoices, order"))
        .rootCause()
        .hasMessage(
            "listener 'order' of as.election.leader-bound.listeners cannot be bound to the leadership: no listener container has this id; known are [orders, invoices].\nName the id of one annotated listener: @KafkaListener(id = \"order\").");
  }

  @Configuration(proxyBeanMethods = false)
  @Import({Handlings.class, KafkaAutoConfiguration.class})
  record Orders(Handlings handlings) {

    @KafkaListener(id = "orders", topics = "orders")
    void handle(String message, Acknowledgment acknowledgment) {
      this.handlings.handle(message);
      acknowledgment.acknowledge();
    }
  }
}
