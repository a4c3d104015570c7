package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What is said of the answers of a server. */
class ZookeeperServerTest {

  private static final String ROOT = "/elections";

  private static final Commit COMMIT = new Commit(Map.of(), List.of(new Create("~a/b", "")), 0);

  @AutoClose
  private final ScriptedServer scripted = new ScriptedServer();

  @AutoClose
  private final ZookeeperServer server = server(ZooDefs.Ids.OPEN_ACL_UNSAFE);

  ZookeeperServerTest() throws Exception {}

  private ZookeeperServer server(List<ACL> acl) {
    ZookeeperServer server = new ZookeeperServer(new ZookeeperConnection(
        List.of(this.scripted.address()), ROOT, null, acl, Map.of(), Duration.ofSeconds(20)));
    server.begin();
    return server;
  }

  private static void read(ZookeeperServer server, boolean fresh) throws LeaseStoreException {
    server.read(new Query(Set.of("a"), Set.of(), fresh));
  }

  @Test
  void aRefusalNamesTheNode() {
    for (Code code : List.of(Code.NOAUTH, Code.QUOTAEXCEEDED)) {
      this.scripted.answer(ScriptedServer.result(code));
      String reason = code == Code.NOAUTH
          ? ": NOAUTH. Give the user of this node all rights to it, or correct the user"
          : ": QUOTAEXCEEDED";
      assertThatThrownBy(() -> this.server.commit(COMMIT))
          .hasMessage("Writing was refused by ZooKeeper at " + ROOT + "/~a/b" + reason);
      assertThatThrownBy(() -> read(this.server, true))
          .hasMessage("Reading was refused by ZooKeeper at " + ROOT + "/~clock" + reason);
      assertThatThrownBy(() -> read(this.server, false))
          .hasMessage("Reading was refused by ZooKeeper at " + ROOT + "/a" + reason);
    }
  }

  @Test
  void aParentThatGoesAwayIsNotARefusal() {
    for (Code existing : List.of(Code.OK, Code.NODEEXISTS)) {
      Iterator<Code> codes = List.of(Code.NONODE, existing, Code.NONODE).iterator();
      this.scripted.answer((request, out) -> ScriptedServer.result(codes.next()).to(request, out));

      assertThatThrownBy(() -> this.server.commit(COMMIT))
          .hasMessage(ROOT + "/~a was deleted meanwhile.");
    }
  }

  @Test
  void nodesThatEveryoneMayChangeAreWarnedOfOnce() throws Exception {
    Logger logger = (Logger) LoggerFactory.getLogger(ZookeeperServer.class);
    Level before = logger.getLevel();
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logger.setLevel(Level.WARN);
    logger.addAppender(logged);
    logged.start();
    try (ZookeeperServer ours = server(ZooDefs.Ids.CREATOR_ALL_ACL)) {
      read(ours, false);
      assertThat(logged.list).isEmpty();
      for (int sessions = 2; sessions <= 3; sessions++) {
        read(this.server, false);
        this.server.close();
        assertThat(this.scripted.sessions()).isEqualTo(sessions);
      }
      assertThat(logged.list)
          .singleElement()
          .extracting(ILoggingEvent::getFormattedMessage)
          .asString()
          .contains("Every client of ZooKeeper can change the leaders: the nodes below " + ROOT);
    } finally {
      logger.setLevel(before);
      logger.detachAppender(logged);
    }
  }
}
