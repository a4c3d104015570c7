package io.election.lease;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How an elector and its store get on, as it stood when asked for.
 *
 * @param silence how long ago the store last answered, also to say that some records are locked, or
 *     since when the elector has run if it never did
 * @param failing for how long calls have failed that have not worked since, though the store may answer
 *     others: reads, for instance, while it refuses writes; zero if none have
 * @param failure what went wrong with them last, for people; {@code null} if nothing did, or if a call
 *     has not come back
 */
public record StoreContact(
    Duration silence, Duration failing, @Nullable String failure) {}
