package io.election.lease;

import io.election.store.JointMutant;
import io.election.store.JointPart;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Calls to production lists, of which each call to a part is a step of its own. A list keeps no
 * state between its calls that matters here, so a call is made anew for each step, with the answers
 * so far.
 */
final class PartByPart {

  /** Instead of an answer. */
  static final Object LOST = "lost";

  /** A call to a part. */
  record Call(int part, Method method, List<@Nullable Object> arguments) {

    Object make(List<SimulatedDatabase> databases, String token) {
      try {
        return this.method.invoke(
            databases.get(this.part).new Store(token), this.arguments.toArray());
      } catch (ReflectiveOperationException ex) {
        throw new IllegalStateException(ex);
      }
    }

    boolean writes() {
      return !this.method.getName().equals("read");
    }

    @Override
    public String toString() {
      return "%s of %s with %s"
          .formatted(this.method.getName(), (char) ('a' + this.part), this.arguments);
    }
  }

  /** Ends a call that has come to a part whose answer is unknown. */
  private static final class Unanswered extends Error {

    private static final long serialVersionUID = 1L;

    private final transient Call call;

    Unanswered(Call call) {
      super(null, null, false, false);
      this.call = call;
    }
  }

  private final List<String> lists;

  private final JointMutant mutant;

  private final List<SimulatedDatabase> databases =
      List.of(new SimulatedDatabase(), new SimulatedDatabase());

  /**
   * Creates the calls of some nodes.
   *
   * @param lists the list of each node, as the names of its parts: {@code a} and {@code b}
   */
  PartByPart(List<String> lists, JointMutant mutant) {
    this.lists = lists;
    this.mutant = mutant;
  }

  List<SimulatedDatabase> databases() {
    return this.databases;
  }

  /**
   * Returns what follows from the answers of the parts so far.
   *
   * @return the next {@link Call} to a part, or the outcome, which may be an exception
   */
  Object outcome(Sent sent, int i, Node node, List<Object> answers) {
    Iterator<Object> left = answers.iterator();
    List<JointPart> parts = new ArrayList<>();
    for (char part : this.lists.get(i).toCharArray()) {
      parts.add(new JointPart.Leases(String.valueOf(part), store(part - 'a', left)));
    }
    try {
      return sent.execute(this.mutant.store(parts, node.settings(), node.id()));
    } catch (LeaseStoreException ex) {
      return ex;
    } catch (Unanswered ex) {
      return ex.call;
    }
  }

  private static LeaseStore store(int part, Iterator<Object> answers) {
    InvocationHandler answering = (proxy, method, arguments) -> {
      if (!answers.hasNext()) {
        throw new Unanswered(new Call(part, method, Arrays.asList(arguments)));
      }
      Object answer = answers.next();
      if (answer == LOST) {
        throw new LeaseStoreException("lost");
      }
      return answer;
    };
    return (LeaseStore) Proxy.newProxyInstance(
        LeaseStore.class.getClassLoader(), new Class<?>[] {LeaseStore.class}, answering);
  }

  /** Makes all calls of a request, one after the other. */
  Object execute(Sent sent, int i, Node node, String token) {
    List<Object> answers = new ArrayList<>();
    Object outcome = outcome(sent, i, node, answers);
    while (outcome instanceof Call call) {
      answers.add(call.make(this.databases, token));
      outcome = outcome(sent, i, node, answers);
    }
    return outcome;
  }
}
