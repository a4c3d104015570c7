package io.election;

/**
 * Work that runs while this node leads, and that has no life cycle of its own. A bean of this type
 * is bound to the default election, or to the one that {@link LeaderBound} names.
 *
 * <pre>{@code
 * @Bean
 * LeaderTask tail(Feed feed) {
 *   return () -> feed.subscribe(this::handle); // returns the subscription, which close() ends
 * }
 * }</pre>
 */
@FunctionalInterface
public interface LeaderTask {

  /**
   * Starts the work and returns. Called when this node has become the leader, on a thread that is
   * interrupted if the leadership is lost meanwhile.
   *
   * @return stops the work; returns when it has ended. Called again, while the lease is kept, if it
   *     throws
   * @throws Exception if the work does not run; it is started again after a pause
   */
  AutoCloseable start() throws Exception;
}
