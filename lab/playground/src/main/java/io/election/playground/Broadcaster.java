package io.election.playground;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/**
 * Sends events to the browsers. Each has a thread and a queue, so that a browser that sleeps
 * delays no other; it is disconnected when its queue is full, and connects again when it wakes up.
 */
final class Broadcaster {

  private static final int QUEUE = 200;

  private static final int MOST_VIEWERS = 50;

  private final Set<Viewer> viewers = ConcurrentHashMap.newKeySet();
  private final AtomicLong ids = new AtomicLong();

  /** An event of the stream. */
  record Event(String type, Object data) {}

  /**
   * Adds a browser, which gets some events first.
   *
   * @throws ResponseStatusException if there are too many browsers
   */
  SseEmitter add(List<Event> first) {
    if (viewers.size() >= MOST_VIEWERS) {
      throw new ResponseStatusException(
          HttpStatus.SERVICE_UNAVAILABLE, "more than " + MOST_VIEWERS + " browsers watch");
    }
    Viewer viewer = new Viewer();
    viewers.add(viewer);
    first.forEach(viewer::offer);
    viewer.setDaemon(true);
    viewer.start();
    return viewer.emitter;
  }

  boolean hasViewers() {
    return !viewers.isEmpty();
  }

  void send(Event event) {
    viewers.forEach((viewer) -> viewer.offer(event));
  }

  private final class Viewer extends Thread {

    private final SseEmitter emitter = new SseEmitter(0L);
    private final BlockingQueue<Event> events = new ArrayBlockingQueue<>(QUEUE);

    Viewer() {
      super("viewer");
    }

    void offer(Event event) {
      if (!events.offer(event) && viewers.remove(this)) {
        interrupt();
      }
    }

    @Override
    public void run() {
      try {
        while (true) {
          Event event = events.take();
          emitter.send(SseEmitter.event()
              .id(Long.toString(ids.incrementAndGet()))
              .name(event.type())
              .data(event.data(), MediaType.APPLICATION_JSON));
        }
      } catch (IOException | IllegalStateException ex) {
        // the browser has gone
      } catch (InterruptedException ex) {
        emitter.complete();
      } finally {
        viewers.remove(this);
      }
    }
  }
}
