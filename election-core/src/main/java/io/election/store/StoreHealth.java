package io.election.store;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The health of an elector's store, as its calls show it: a snapshot.
 *
 * @param silence the time since the store last answered, even if only to report locked records, or
 *     since the elector began if the store never answered
 * @param failing how long calls have been failing that have not succeeded since; zero if there are
 *     none. The store may answer other calls meanwhile: for instance reads, while it refuses writes
 * @param failure the last failure of these calls, for display; {@code null} if there is none, or if
 *     a call has not returned
 */
public record StoreHealth(
    Duration silence, Duration failing, @Nullable String failure) {}
