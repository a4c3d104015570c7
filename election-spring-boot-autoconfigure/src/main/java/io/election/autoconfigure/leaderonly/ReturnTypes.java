package io.election.autoconfigure.leaderonly;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.util.ClassUtils;

/** The results of methods that {@link io.election.LeaderOnly} guards. */
final class ReturnTypes {

  private ReturnTypes() {}

  /** Supplies the result of a skipped call: an empty value of the type that callers expect. */
  @SuppressWarnings("FutureReturnValueIgnored")
  static Supplier<@Nullable Object> ofSkipped(Class<?> returnType) {
    if (returnType == Optional.class) {
      return Optional::empty;
    }
    if (returnType == OptionalInt.class) {
      return OptionalInt::empty;
    }
    if (returnType == OptionalLong.class) {
      return OptionalLong::empty;
    }
    if (returnType == OptionalDouble.class) {
      return OptionalDouble::empty;
    }
    if (isFuture(returnType) && returnType.isAssignableFrom(CompletableFuture.class)) {
      // Not shared, because a caller may replace its value with obtrudeValue.
      return () -> CompletableFuture.completedFuture(null);
    }
    if (returnType.isArray()) {
      return () -> Array.newInstance(returnType.getComponentType(), 0);
    }
    if (returnType == List.class
        || returnType == Collection.class
        || returnType == Iterable.class) {
      return List::of;
    }
    if (returnType == Set.class) {
      return Set::of;
    }
    if (returnType == Map.class) {
      return Map::of;
    }
    if (returnType == Stream.class) {
      return Stream::empty;
    }
    return () -> null;
  }

  /** Whether the work of such a method begins only on subscription. */
  static boolean isReactive(Class<?> returnType) {
    if (isFuture(returnType)) {
      return false;
    }
    return isPublisher(returnType) || hasAdapter(returnType);
  }

  /** Whether {@link ReactiveGuard} can handle the type. */
  static boolean hasAdapter(Class<?> returnType) {
    return returnType != void.class
        && returnType != Object.class
        && ReactiveAdapterRegistry.getSharedInstance().getAdapter(returnType) != null;
  }

  private static boolean isFuture(Class<?> type) {
    return Future.class.isAssignableFrom(type) || CompletionStage.class.isAssignableFrom(type);
  }

  private static boolean isPublisher(Class<?> type) {
    return Flow.Publisher.class.isAssignableFrom(type)
        || type.getName().equals("org.reactivestreams.Publisher")
        || Arrays.stream(ClassUtils.getAllInterfacesForClass(type))
            .anyMatch((candidate) -> candidate.getName().equals("org.reactivestreams.Publisher"));
  }
}
