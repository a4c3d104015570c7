package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How the hosts in a URL are split and shown. */
class JdbcHostsTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:mysql://a:3306/db?x=1,2",
        "jdbc:mysql://a,b/db",
        "jdbc:mysql://a,b/db?failOverReadOnly=true",
        "jdbc:mysql://(host=a,port=3306)/db",
        "jdbc:mysql://user@[a:3306,b:3306]/db?failOverReadOnly=false",
        "jdbc:mysql:replication://a,b/db",
        "jdbc:mysql://address=(host=a)(type=source),address=(host=b)(type=replica)/db?failOverReadOnly=false",
        "jdbc:mysql+srv://a/db",
        "jdbc:tc:mysql:9.7:///db",
        "jdbc:h2:mem:a,b"
      })
  void otherUrlsStayAsTheyAre(String url) {
    assertThat(JdbcHosts.split(url)).containsExactly(url);
  }

  @Test
  void severalHostsGiveAUrlForEachInTheirOrder() {
    assertThat(JdbcHosts.split(
            "jdbc:mysql://a,b:3307,[::1]:3308/db?sslMode=REQUIRED&failOverReadOnly=false"))
        .containsExactly(
            "jdbc:mysql://a/db?sslMode=REQUIRED&failOverReadOnly=false",
            "jdbc:mysql://b:3307/db?sslMode=REQUIRED&failOverReadOnly=false",
            "jdbc:mysql://[::1]:3308/db?sslMode=REQUIRED&failOverReadOnly=false");
    assertThat(JdbcHosts.split("jdbc:mysql:loadbalance://(host=a,port=1),me:secret@b/db"))
        .containsExactly("jdbc:mysql://(host=a,port=1)/db", "jdbc:mysql://me:secret@b/db");
    assertThat(JdbcHosts.split("jdbc:mariadb:sequential://address=(host=a)(port=1),b/db"))
        .containsExactly("jdbc:mariadb://address=(host=a)(port=1)/db", "jdbc:mariadb://b/db");
  }

  @Test
  void connectorJWritesToTheFirstHostAloneUnlessToldOtherwise() {
    assertThat(JdbcHosts.writesToFirstAlone("jdbc:mysql://a,b/db?x=1")).isTrue();
    assertThat(JdbcHosts.writesToFirstAlone("jdbc:mysql://a/db?x=1")).isFalse();
    assertThat(JdbcHosts.writesToFirstAlone("jdbc:mysql://a,b/db?x=1&failOverReadOnly=false"))
        .isFalse();
    assertThat(JdbcHosts.writesToFirstAlone("jdbc:mysql:loadbalance://a,b/db")).isFalse();
    assertThat(JdbcHosts.writesToFirstAlone("jdbc:mariadb://a,b/db")).isFalse();
  }

  @Test
  void aMessageShowsTheHostWithoutCredentials() {
    assertThat(JdbcHosts.host("jdbc:mysql://me:secret@b:3307/db?x=1")).isEqualTo("b:3307");
    assertThat(JdbcHosts.host("jdbc:mysql://(host=b,port=3307,user=me,password=secret)/db"))
        .isEqualTo("b:3307");
    assertThat(JdbcHosts.host("jdbc:mysql://address=(host=b)(password=s@cret)/db"))
        .isEqualTo("b");
  }
}
