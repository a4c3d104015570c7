package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.store.LeaseStoreException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import javax.security.auth.Subject;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.FailedLoginException;
import javax.security.auth.spi.LoginModule;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.auth.DigestLoginModule;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A directory, which Kerberos may use, locks an account after a few refused logins. */
class RefusedLoginIT {

  private static final AtomicInteger LOGINS = new AtomicInteger();

  /** Null if the login module refuses the user itself, as that of Kerberos does. */
  private static volatile String password;

  private final AtomicLong nanos = new AtomicLong();

  @AfterEach
  void forgetConfiguration() {
    Configuration.setConfiguration(null);
  }

  @Test
  void aRefusedLoginIsNotRepeatedByEachCall(@TempDir Path folder) throws Exception {
    Configuration.setConfiguration(new AnySection());
    Path users = Files.writeString(
        folder.resolve("jaas.conf"),
        "Server { %s required user_orders=\"right\"; };"
            .formatted(DigestLoginModule.class.getName()));
    try (Zookeeper server = Zookeeper.startWithSasl(users)) {
      for (String wrong : new String[] {"wrong", null}) {
        LOGINS.set(0);
        password = wrong;
        ZookeeperSession session = session(server);
        for (int i = 0; i < 10; i++) {
          assertIsRefused(session);
        }
        this.nanos.addAndGet(Duration.ofMillis(29_999).toNanos());
        assertIsRefused(session);
        assertThat(LOGINS).hasValue(1);

        this.nanos.addAndGet(Duration.ofSeconds(15).toNanos());
        assertIsRefused(session);
        assertThat(LOGINS).hasValue(2);

        password = "right";
        this.nanos.addAndGet(Duration.ofSeconds(45).toNanos());
        for (int i = 0; i < 2; i++) {
          session.begin();
          assertThat(read(session)).hasSize(1);
        }
        assertThat(LOGINS).hasValue(3);
        session.close();
      }
    }
  }

  private ZookeeperSession session(Zookeeper server) {
    ZookeeperConnection connection = new ZookeeperConnection(
        List.of(server.connectString()),
        "/election",
        null,
        ZooDefs.Ids.OPEN_ACL_UNSAFE,
        Map.of("zookeeper.fips-mode", "false"),
        Duration.ofSeconds(20));
    return new ZookeeperSession(connection, (client) -> {}, this.nanos::get);
  }

  private static List<?> read(ZookeeperSession session) throws LeaseStoreException {
    return session.multi("Reading", List.of(Op.getData("/")));
  }

  private static void assertIsRefused(ZookeeperSession session) {
    session.begin();
    assertThatThrownBy(() -> read(session))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("the client could not authenticate");
  }

  /** Has the user in each section. */
  private static final class AnySection extends Configuration {

    @Override
    public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
      return new AppConfigurationEntry[] {
        new AppConfigurationEntry(
            CountingModule.class.getName(), LoginModuleControlFlag.REQUIRED, Map.of())
      };
    }
  }

  /** Counts the logins. */
  public static final class CountingModule implements LoginModule {

    @Override
    public void initialize(
        Subject subject, CallbackHandler handler, Map<String, ?> state, Map<String, ?> options) {
      if (password != null) {
        subject.getPublicCredentials().add("orders");
        subject.getPrivateCredentials().add(password);
      }
    }

    @Override
    public boolean login() throws FailedLoginException {
      LOGINS.incrementAndGet();
      if (password == null) {
        throw new FailedLoginException("the password is wrong");
      }
      return true;
    }

    @Override
    public boolean commit() {
      return true;
    }

    @Override
    public boolean abort() {
      return true;
    }

    @Override
    public boolean logout() {
      return true;
    }
  }
}
