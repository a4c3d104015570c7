package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeaderOnly;
import io.election.LeaderOnly.OnFollower;
import io.election.autoconfigure.leaderonly.LeaderOnlyMethods.Guarded;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which of several declarations of a method decides, in whatever order they are found. */
class LeaderOnlyMethodsTest {

  private final LeaderOnlyMethods methods = new LeaderOnlyMethods((text) -> text);

  private Collection<Guarded> ofProxy(Class<?>... interfaces) {
    Object proxy = Proxy.newProxyInstance(
        getClass().getClassLoader(), interfaces, (self, method, arguments) -> null);
    return this.methods.of(proxy.getClass());
  }

  @Test
  void theAnnotationOfAMethodCountsBeforeThatOfAType() {
    for (Collection<Guarded> found :
        List.of(ofProxy(OnType.class, OnMethod.class), ofProxy(OnMethod.class, OnType.class))) {
      assertThat(found).singleElement().satisfies((guarded) -> {
        assertThat(guarded.annotated()).isTrue();
        assertThat(guarded.annotation().onFollower()).isEqualTo(OnFollower.THROW);
      });
    }
  }

  @Test
  void theNarrowerReturnTypeCounts() {
    for (Collection<Guarded> found :
        List.of(ofProxy(Wide.class, Narrow.class), ofProxy(Narrow.class, Wide.class))) {
      assertThat(found)
          .singleElement()
          .satisfies((guarded) -> assertThat(guarded.returnType()).isEqualTo(Optional.class));
    }
  }

  @Test
  void theMethodsOfEveryObjectAreNotGuarded() {
    assertThat(this.methods.of(Described.class))
        .singleElement()
        .satisfies((guarded) -> assertThat(guarded.method().getName()).isEqualTo("text"));
  }

  @LeaderOnly
  interface OnType {
    Object text();
  }

  interface OnMethod {
    @LeaderOnly(onFollower = OnFollower.THROW)
    Object text();
  }

  interface Wide {
    @LeaderOnly
    Object text();
  }

  interface Narrow {
    @LeaderOnly
    Optional<String> text();
  }

  @LeaderOnly
  static class Described {

    public String text() {
      return "ran";
    }

    @Override
    public String toString() {
      return "described";
    }
  }
}
