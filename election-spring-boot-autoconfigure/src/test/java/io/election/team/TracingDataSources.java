package io.election.team;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
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
      Connection connection = super.getConnection();
      return (Connection) Proxy.newProxyInstance(
          Connection.class.getClassLoader(),
          new Class<?>[] {Connection.class},
          (proxy, method, arguments) -> {
            TracingDataSources.this.calls.incrementAndGet();
            try {
              return method.invoke(connection, arguments);
            } catch (InvocationTargetException ex) {
              throw ex.getTargetException();
            }
          });
    }
  }
}
