package io.election.zookeeper;

import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.AsyncCallback;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node of an application that elects by ephemeral nodes, as many do: its methods are, word for
 * word, those of the design that this project began with.
 */
public final class SeedService {

  private static final Logger LOGGER = LoggerFactory.getLogger(SeedService.class);

  private static final String PATH = "/soa/master/services/";

  private ZooKeeper zk;
  private String currentContainerAddr;
  private final Map<String, Boolean> isMaster = new ConcurrentHashMap<>();
  private volatile boolean closed;

  /** Begins to elect. */
  public SeedService(Zookeeper server, String currentContainerAddr, String key) {
    this.zk = server.connect();
    this.currentContainerAddr = currentContainerAddr;
    runForMaster(key);
  }

  /** Returns whether this node leads, as far as the service has noticed. */
  public boolean isMaster(String key) {
    return !this.closed && this.isMaster.getOrDefault(key, false);
  }

  /** Asks the service once, and records its answer, which has no term. */
  void sample(String key, LeadershipLog log) {
    long before = System.nanoTime();
    boolean master = isMaster(key);
    log.sample(before, System.nanoTime(), master ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
  }

  /** Ends the service, and then its session. */
  public void close() throws InterruptedException {
    this.closed = true;
    this.zk.close();
  }

  /**
   * 竞选Master
   * <p/>
   * /soa/master/services/**.**.**.AccountService:1.0.0   data [192.168.99.100:9090]
   */
  public void runForMaster(String key) {
    zk.create(
        PATH + key,
        currentContainerAddr.getBytes(),
        ZooDefs.Ids.OPEN_ACL_UNSAFE,
        CreateMode.EPHEMERAL,
        masterCreateCb,
        key);
  }

  private AsyncCallback.StringCallback masterCreateCb = (rc, path, ctx, name) -> {
    switch (KeeperException.Code.get(rc)) {
      case CONNECTIONLOSS:
        // 检查master状态
        checkMaster((String) ctx);
        break;
      case OK:
        // 被选为master
        isMaster.put((String) ctx, true);
        LOGGER.info("{}竞选master成功, data为[{}]", (String) ctx, currentContainerAddr);
        break;
      case NODEEXISTS:
        // master节点上已存在相同的service:version，自己没选上
        isMaster.put((String) ctx, false);
        LOGGER.info("{}竞选master失败, data为[{}]", (String) ctx, currentContainerAddr);
        // 保持监听
        masterExists((String) ctx);
        break;
      case NONODE:
        LOGGER.error("{}的父节点不存在，创建失败", path);
        break;
      default:
        LOGGER.error("创建{}异常：{}", path, KeeperException.Code.get(rc));
    }
  };

  /**
   * 监听master是否存在
   */
  private void masterExists(String key) {

    zk.exists(
        PATH + key,
        (event) -> {
          // 若master节点已被删除,则竞争master
          if (event.getType() == Watcher.Event.EventType.NodeDeleted) {
            String serviceKey = event.getPath().replace(PATH, "");
            runForMaster(serviceKey);
          }
        },
        (rc, path, ctx, stat) -> {
          switch (KeeperException.Code.get(rc)) {
            case CONNECTIONLOSS:
              masterExists((String) ctx);
              break;
            case NONODE:
              runForMaster((String) ctx);
              break;
            case OK:
              if (stat == null) {
                runForMaster((String) ctx);
              } else {
                checkMaster((String) ctx);
              }
              break;
            default:
              checkMaster((String) ctx);
              break;
          }
        },
        key);
  }

  /**
   * 检查master
   *
   * @param serviceKey
   */
  private void checkMaster(String serviceKey) {

    zk.getData(
        PATH + serviceKey,
        false,
        (rc, path, ctx, data, stat) -> {
          switch (KeeperException.Code.get(rc)) {
            case CONNECTIONLOSS:
              checkMaster((String) ctx);
              return;
            case NONODE: // 没有master节点存在，则尝试获取领导权
              runForMaster((String) ctx);
              return;
            case OK:
              String value = new String(data);
              if (value.equals(currentContainerAddr)) isMaster.put((String) ctx, true);
              else isMaster.put((String) ctx, false);
              return;
          }
        },
        serviceKey);
  }
}
