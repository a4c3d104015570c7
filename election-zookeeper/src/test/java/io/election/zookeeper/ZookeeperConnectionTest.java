package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionSetupException;
import io.election.zookeeper.ZookeeperConnection.Address;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ZookeeperConnectionTest {

  @Test
  void anAddressHasServersAndMayHaveAPath() {
    Address address = Address.of(" zoo1,[::1]:2182,10.0.0.1:2183/applications/ours ");

    assertThat(address.servers())
        .containsExactlyInAnyOrder("zoo1:2181", "[::1]:2182", "10.0.0.1:2183");
    assertThat(address.path()).isEqualTo("/applications/ours");
    assertThat(Address.of("zoo1").path()).isEmpty();
  }

  @Test
  void aMalformedAddressIsToldWithARemedy() {
    for (String connectString :
        List.of("", " ", ",", "zoo:x", "zoo:99999", "zoo:0", "http://zoo:2181", "a b:2181")) {
      assertThatExceptionOfType(ElectionSetupException.class)
          .as(connectString)
          .isThrownBy(() -> ZookeeperLeaseStore.builder(connectString))
          .withMessageContaining("'" + connectString + "', is malformed")
          .withMessageContaining("zoo1:2181,zoo2:2181,zoo3:2181");
    }
    for (String root :
        List.of("", "/", "soa", "/soa/", "/soa//x", "/soa/../x", "/zookeeper", "/zookeeper/x")) {
      assertThatExceptionOfType(ElectionSetupException.class)
          .as(root)
          .isThrownBy(() -> ZookeeperLeaseStore.builder("zoo:2181").root(root))
          .withMessageContaining("'" + root + "', cannot be used")
          .withMessageContaining("for instance /soa/master/services");
    }
  }

  /** Otherwise the first server would have the sessions of all nodes. */
  @Test
  void eachNodeHasAnOrderOfServersOfItsOwn() {
    assertThat(
            Stream.generate(() -> Address.of("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p").servers())
                .limit(20))
        .doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @CsvSource({"r, 1", "w, 2", "c, 4", "d, 8", "a, 16", "cdrwa, 31", "rr, 1"})
  void eachLetterIsAPermission(String letters, int permissions) {
    assertThat(ZookeeperConnection.acl("world:anyone:" + letters + ",sasl:ours:cdrw"))
        .containsExactly(
            new ACL(permissions, ZooDefs.Ids.ANYONE_ID_UNSAFE),
            new ACL(15, new Id("sasl", "ours")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"cdr", "cdw", "crw", "drw", "cdra"})
  void aListThatLetsNobodyKeepRecordsIsRefused(String letters) {
    assertThatThrownBy(() -> ZookeeperConnection.acl("sasl:ours:" + letters))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("'sasl:ours:" + letters + "', gives the rights")
        .hasMessageContaining("cdrw (create, delete, read, write)");
  }

  @Test
  void anIdMayHaveColons() {
    assertThat(ZookeeperConnection.acl("digest:ours:aGFzaA==:cdrwa, ip:10.0.0.1:r"))
        .containsExactly(
            new ACL(ZooDefs.Perms.ALL, new Id("digest", "ours:aGFzaA==")),
            new ACL(ZooDefs.Perms.READ, new Id("ip", "10.0.0.1")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "world", "world:anyone", "world:anyone:x", ":anyone:r", "ip:a:r,"})
  void aMalformedListIsToldWithARemedy(String acl) {
    assertThatThrownBy(() -> ZookeeperConnection.acl(acl))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("'" + acl + "', is malformed")
        .hasMessageContaining("scheme:id:permissions");
  }

  @Test
  void onlyAListThatGivesEveryoneAllIsOpen() {
    assertThat(connection(ZooDefs.Ids.OPEN_ACL_UNSAFE, Map.of()).isOpenToAll()).isTrue();
    assertThat(connection(ZooDefs.Ids.READ_ACL_UNSAFE, Map.of()).isOpenToAll()).isFalse();
  }

  @Test
  void aClientHasTheSettingsAndThoseOfTheUserCountMore() throws Exception {
    Map<String, String> ours = Map.of("zookeeper.sasl.client", "false", "jute.maxbuffer", "1000");
    for (Map<String, String> properties : List.of(Map.<String, String>of(), ours)) {
      ZooKeeper client =
          connection(ZooDefs.Ids.OPEN_ACL_UNSAFE, properties).open("127.0.0.1:1", (event) -> {});
      ZKClientConfig config = client.getClientConfig();
      client.close();
      assertThat(config.getProperty("zookeeper.request.timeout")).isEqualTo("100");
      assertThat(config.getProperty("jute.maxbuffer"))
          .isEqualTo(properties.getOrDefault("jute.maxbuffer", "67108864"));
    }
  }

  private static ZookeeperConnection connection(List<ACL> acl, Map<String, String> properties) {
    return new ZookeeperConnection(
        List.of(), "/elections", null, acl, properties, Duration.ofMillis(100));
  }
}
