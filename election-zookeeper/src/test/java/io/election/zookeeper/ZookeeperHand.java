package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.keyvalue.KeyValueEdits;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** Edits nodes as the command line of ZooKeeper does, and faster. */
final class ZookeeperHand implements KeyValueEdits.Hand {

  private final ZooKeeper client;
  private final String root;

  ZookeeperHand(ZooKeeper client, String root) {
    this.client = client;
    this.root = root;
  }

  private static <T> T edit(Callable<T> edit) {
    try {
      return edit.call();
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
  }

  @Override
  public void put(String key, String value) {
    edit(() -> {
      String path = this.root + "/" + key;
      for (int end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) {
        create(path.substring(0, end), "");
      }
      create(path, value);
      return this.client.setData(path, value.getBytes(UTF_8), -1);
    });
  }

  private void create(String path, String value) throws Exception {
    try {
      this.client.create(
          path, value.getBytes(UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    } catch (KeeperException.NodeExistsException ex) {
      // It is changed instead.
    }
  }

  @Override
  public void delete(String key) {
    edit(() -> {
      this.client.delete(this.root + "/" + key, -1);
      return key;
    });
  }

  @Override
  public Map<String, String> below(String parent) {
    return edit(() -> {
      Map<String, String> values = new TreeMap<>();
      try {
        for (String name : this.client.getChildren(this.root + "/" + parent, false)) {
          values.put(parent + "/" + name, get(parent + "/" + name));
        }
      } catch (KeeperException.NoNodeException ex) {
        // There are none.
      }
      return values;
    });
  }

  @Override
  public String get(String key) {
    return edit(() -> new String(this.client.getData(this.root + "/" + key, false, null), UTF_8));
  }
}
