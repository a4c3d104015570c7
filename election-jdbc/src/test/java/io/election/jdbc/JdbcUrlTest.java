package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JdbcUrlTest {

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
    assertThat(hosts(url)).containsExactly(url);
  }

  @Test
  void severalHostsGiveAUrlForEachInTheirOrder() {
    assertThat(hosts("jdbc:mysql://a,b:3307,[::1]:3308/db?sslMode=REQUIRED&failOverReadOnly=false"))
        .containsExactly(
            "jdbc:mysql://a/db?sslMode=REQUIRED&failOverReadOnly=false",
            "jdbc:mysql://b:3307/db?sslMode=REQUIRED&failOverReadOnly=false",
            "jdbc:mysql://[::1]:3308/db?sslMode=REQUIRED&failOverReadOnly=false");
    assertThat(hosts("jdbc:mysql:loadbalance://(host=a,port=1),me:secret@b/db"))
        .containsExactly("jdbc:mysql://(host=a,port=1)/db", "jdbc:mysql://me:secret@b/db");
    assertThat(hosts("jdbc:mariadb:sequential://address=(host=a)(port=1),b/db"))
        .containsExactly("jdbc:mariadb://address=(host=a)(port=1)/db", "jdbc:mariadb://b/db");
  }

  @Test
  void connectorJWritesToTheFirstHostAloneUnlessToldOtherwise() {
    assertThat(new JdbcUrl("jdbc:mysql://a,b/db?x=1").writesToFirstAlone()).isTrue();
    assertThat(new JdbcUrl("jdbc:mysql://a/db?x=1").writesToFirstAlone()).isFalse();
    assertThat(new JdbcUrl("jdbc:mysql://a,b/db?x=1&failOverReadOnly=false").writesToFirstAlone())
        .isFalse();
    assertThat(new JdbcUrl("jdbc:mysql:loadbalance://a,b/db").writesToFirstAlone())
        .isFalse();
    assertThat(new JdbcUrl("jdbc:mariadb://a,b/db").writesToFirstAlone()).isFalse();
  }

  @Test
  void aMessageShowsTheHostWithoutCredentials() {
    assertThat(new JdbcUrl("jdbc:mysql://me:secret@b:3307/db?x=1").host()).isEqualTo("b:3307");
    assertThat(new JdbcUrl("jdbc:mysql://(host=b,port=3307,user=me,password=secret)/db").host())
        .isEqualTo("b:3307");
    assertThat(new JdbcUrl("jdbc:mysql://address=(host=b)(password=s@cret)/db").host())
        .isEqualTo("b");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "jdbc:mysql://host:3306/app|host:3306/app",
        "jdbc:mysql://host/app?user=root&password=s3cret|host/app",
        "jdbc:mariadb://host:3306/app?password=s3cret|host:3306/app",
        "jdbc:mysql://root:s3cret@host:3306/app|host:3306/app",
        "jdbc:mysql://root:s3/cr@et@host:3306/app|host:3306/app",
        "jdbc:mysql:replication://root:s3cret@a:1,b:2/app|a:1,b:2/app",
        "jdbc:mysql+srv://host/app|host/app",
        "jdbc:mysql+srv://root:s3cret@host/app|host/app",
        "jdbc:mysql://root:s3cret@[a:1,b:2]/app|[a:1,b:2]/app",
        "jdbc:mysql://root:s3cret@[::1]:3306/app|[::1]:3306/app",
        "jdbc:mysql://host/app?user=root@x&password=s3cret|host/app",
        "jdbc:mysql://host/app?password=s3cret@s3cret|host/app",
        "jdbc:mysql://host/app?trustCertificateKeyStorePassword=s3cret|host/app",
        "jdbc:mysql://root:s3cret?x@host/app|the election's database",
        "jdbc:mysql://root:s3cret#x@host/app|the election's database",
        "jdbc:mysql://root:s3cret;x@host/app|the election's database",
        "jdbc:mysql://root:1?s3cret=x@host/app|the election's database",
        "jdbc:mysql://root:x@s3cret?y=z@host/app|the election's database",
        "jdbc:mysql://root:s3cret|the election's database",
        "jdbc:mysql://(host=h,port=1,user=root,password=s3cret)/app|h:1/app",
        "jdbc:mysql://(host=h,port=1,user=root,password=p@s3cret)/app|h:1/app",
        "jdbc:mysql://(host=h,port=1,user=root,password=p?s3cret)/app|h:1",
        "jdbc:mysql://(host=h,port=1,user=root,password=p)s3cret)/app|h:1/app",
        "jdbc:mysql://(host=h,port=1,user=root,password=p)/s3cret,)/app|h:1/app",
        "jdbc:mysql://(password=s3cret,host=h),( HOST = i , PORT = 2 )/app|h,i:2/app",
        "jdbc:mysql://[(host=h,password=s3cret),(host=i)]/app|h,i/app",
        "jdbc:mysql://root:s3cret@(host=h,port=1)/app|h:1/app",
        "jdbc:mysql://address=(host=h)(user=root)(password=s3cret)/app|h/app",
        "jdbc:mariadb://address=(type=master)(host=h)(port=1)/app?password=s3cret|h:1/app",
        "jdbc:tc:mysql:9.7:///app?password=s3cret|/app",
        "jdbc:aws-wrapper:mysql://host/app?password=s3cret|host/app",
        "jdbc:oracle:thin:scott/s3cret@//host:1521/app|//host:1521/app",
        "jdbc:oracle:thin:scott/s3?s3cret@//host:1521/app|the election's database",
        "jdbc:h2:mem:app;USER=sa;PASSWORD=s3cret|jdbc:h2:mem:app",
        "jdbc:db2://host:1/app:password=s3cret;user=x|host:1/app",
        "jdbc:sqlserver://host;user=sa;password=s3cret@x|the election's database",
      })
  void aLocationShowsNeitherUserNorPassword(String url, String location) {
    assertThat(new JdbcUrl(url).location()).isEqualTo(location).doesNotContain("s3cret");
    assertThat(new JdbcUrl(url).toString()).endsWith(location).doesNotContain("s3cret");
  }

  @ParameterizedTest
  @CsvSource({
    "jdbc:mysql://root:s3cret@host:3306/app, jdbc:mysql://host:3306/app",
    "jdbc:postgresql://db/orders?password=s3cret, jdbc:postgresql://db/orders",
    "jdbc:mysql:s3%cret//host/app, host/app",
    "jdbc:h2:mem:app;PASSWORD=s3cret, jdbc:h2:mem:app"
  })
  void aDescriptionBeginsWithTheSchemeUnlessThatMayBeSecret(String url, String description) {
    assertThat(new JdbcUrl(url).describe()).isEqualTo(description);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "jdbc:mysql://host/app?sslMode=REQUIRED|",
        "jdbc:mysql://me:s3-cret@host/app|me,s3,cret",
        "jdbc:mysql://host/app?user=me&password=s3cret&x=yes|s3cret",
        "jdbc:mysql://host/app?trustCertificateKeyStorePASSWORD=s3cret|s3cret",
        "jdbc:mysql://address=(host=h)(user=me)(password=s3cret)/app|me,s3cret",
        "jdbc:mysql://root:s3cret|root,s3cret",
        "jdbc:h2:mem:app;PASSWORD=s3cret|s3cret"
      })
  void wordsOfTheLoginAreSecret(String url, @Nullable String secrets) {
    assertThat(new JdbcUrl(url).secrets())
        .containsExactlyInAnyOrder(secrets == null ? new String[0] : secrets.split(","));
  }

  @ParameterizedTest
  @CsvSource({
    "password, true",
    "trustCertificateKeyStorePassword, true",
    "clientToken, true",
    "sslMode, false"
  })
  void theNameOfAPropertyTellsWhetherItIsSecret(String property, boolean secret) {
    assertThat(JdbcUrl.isSecret(property)).isEqualTo(secret);
  }

  @Test
  void aPropertyIsFoundByItsName() {
    JdbcUrl url = new JdbcUrl("jdbc:mysql://host/app?connectionAttributes=a:b");
    assertThat(url.parameter("connectionAttributes")).isNotNull();
    assertThat(url.parameter("socketTimeout")).isNull();
  }

  private static List<String> hosts(String url) {
    return new JdbcUrl(url).split().stream().map(JdbcUrl::text).toList();
  }

  @Test
  void aParameterIsDecodedAndTheLastOneCounts() {
    JdbcUrl url = new JdbcUrl(
        "jdbc:postgresql://db/orders?currentSchema=a&x=currentSchema&currentSchema=%22b%22%2Cc");
    assertThat(url.parameter("currentSchema")).isEqualTo("\"b\",c");
    assertThat(url.parameter("Schema")).isNull();
  }
}
