package io.election.team;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.stereotype.Component;

/** Wraps the pool and each of its connections in a proxy, as libraries do that trace statements. */
@Component
public class TracingDataSources implements BeanPostProcessor {

  private final AtomicLong calls = new AtomicLong();

  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    return bean instanceof DataSource dataSource ? new Traced(dataSource) : bean;
  }

  long calls() {
    return this.calls.get();
  }

  private final class Traced extends DelegatingDataSource {

    Traced(DataSource dataSource) {
      super(dataSource);
    }

    @Override
    public Connection getConnection() throws SQLException {
      ProxyFactory factory = new ProxyFactory(new Class<?>[] {Connection.class});
      factory.setTarget(super.getConnection());
      factory.addAdvice((MethodBeforeAdvice)
          (method, arguments, connection) -> TracingDataSources.this.calls.incrementAndGet());
      return (Connection) factory.getProxy();
    }
  }
}
