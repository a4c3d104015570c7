package io.election.support;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** Implements interfaces by one method, mostly to change what a real object does. */
public final class Proxies {

  private Proxies() {}

  /** What is called instead of each method. */
  @FunctionalInterface
  public interface Call {

    /**
     * Answers a call.
     *
     * @param arguments {@code null} if the method has none
     * @throws InvocationTargetException with the cause that the caller is to get
     * @throws Exception if the call fails
     */
    @Nullable
    Object call(Method method, Object @Nullable [] arguments) throws Exception;
  }

  /** Returns an object whose methods all make one call. */
  public static <T> T of(Class<T> type, Call call) {
    return type.cast(Proxy.newProxyInstance(
        Proxies.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
          try {
            return call.call(method, arguments);
          } catch (InvocationTargetException ex) {
            throw ex.getCause();
          }
        }));
  }
}
