package io.election.playground;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Refuses requests that a page of another host has made, or that reached this machine by another
 * name, so that a page elsewhere cannot kill a node.
 */
final class LoopbackFilter extends OncePerRequestFilter {

  private static final Pattern LOOPBACK =
      Pattern.compile("(?:localhost|127\\.0\\.0\\.1|\\[::1])(?::\\d+)?");

  private final Map<String, String> headers;

  /** Creates a filter that adds headers to the answers. */
  LoopbackFilter(Map<String, String> headers) {
    this.headers = headers;
  }

  /** Whether a request with these headers comes from this machine. */
  static boolean accepts(@Nullable String host, @Nullable String origin) {
    if (host == null || !LOOPBACK.matcher(host).matches()) {
      return false;
    }
    return origin == null || origin.equals("http://" + host);
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (!accepts(request.getHeader("Host"), request.getHeader("Origin"))) {
      response.setStatus(HttpServletResponse.SC_FORBIDDEN);
      response.setContentType("text/plain");
      response
          .getWriter()
          .println(
              "The playground answers only requests of its own pages on this machine: open http://127.0.0.1:"
                  + request.getLocalPort() + "/");
      return;
    }
    headers.forEach(response::setHeader);
    chain.doFilter(request, response);
  }
}
