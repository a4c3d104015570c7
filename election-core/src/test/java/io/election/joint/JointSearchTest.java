package io.election.joint;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.joint.JointState.Climbing;
import io.election.joint.JointState.Descending;
import io.election.joint.JointState.Leading;
import io.election.joint.PartView.Holder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Searches all states that nodes of two neighbouring kinds can reach together: on store A alone, on
 * the list of both, on store B alone. A store is a lease that one node holds at a time, may lose at
 * any instant, and hands back; that a store grants no lease twice is the subject of other tests. The
 * nodes on the list follow the production rules, with views that are as old as they may be.
 */
class JointSearchTest {

  private static final int A = 0;

  private static final int B = 1;

  /** Terms beyond this one are not searched. */
  private static final long HIGHEST_TERM = 4;

  /**
   * A store.
   *
   * @param holder the node that holds its lease; -1 if none
   * @param term the term of its last lease
   */
  private record Store(int holder, long term) {}

  /**
   * A node.
   *
   * @param state its state by the rules; {@code null} if it is on one store alone
   * @param works whether leader work runs
   */
  private record Node(String kind, @Nullable JointState state, boolean works) {

    boolean isOnList() {
      return this.state != null;
    }

    Node with(@Nullable JointState state) {
      return new Node(this.kind, state, this.works);
    }

    Node works(boolean works) {
      return new Node(this.kind, this.state, works);
    }
  }

  private record World(List<Store> stores, List<Node> nodes, long ledTerm) {

    World with(int store, Store changed) {
      List<Store> stores = new ArrayList<>(this.stores);
      stores.set(store, changed);
      return new World(stores, this.nodes, this.ledTerm);
    }

    World with(int node, Node changed) {
      List<Node> nodes = new ArrayList<>(this.nodes);
      nodes.set(node, changed);
      return new World(this.stores, nodes, this.ledTerm);
    }
  }

  /** The search of one set of nodes by one set of rules. */
  private static final class Search {

    private final JointRules rules;

    private final Set<World> seen = new HashSet<>();

    private final Deque<World> open = new ArrayDeque<>();

    private final List<String> violations = new ArrayList<>();

    /** The states in which a node on the list leads. */
    int led;

    Search(JointRules rules, String... kinds) {
      this.rules = rules;
      List<Node> nodes = new ArrayList<>();
      for (String kind : kinds) {
        nodes.add(new Node(kind, kind.length() > 1 ? Climbing.from(0) : null, false));
      }
      add(new World(List.of(new Store(-1, 0), new Store(-1, 1)), nodes, 0));
    }

    List<String> run() {
      while (!this.open.isEmpty() && this.violations.isEmpty()) {
        World world = this.open.remove();
        for (int i = 0; i < world.nodes().size(); i++) {
          leases(world, i);
          work(world, i);
          if (world.nodes().get(i).isOnList()) {
            step(world, i);
          }
        }
      }
      return this.violations;
    }

    private void add(World world) {
      if (this.seen.add(world)) {
        judge(world);
        this.open.add(world);
      }
    }

    private void judge(World world) {
      List<String> leaders = new ArrayList<>();
      for (int i = 0; i < world.nodes().size(); i++) {
        if (leads(world, i) || world.nodes().get(i).works()) {
          leaders.add(world.nodes().get(i).toString());
        }
        if (world.nodes().get(i).isOnList() && leads(world, i)) {
          this.led++;
          if (term(world, i) != world.stores().get(A).term()
              || term(world, i) != world.stores().get(B).term()) {
            this.violations.add("leads in two terms: " + world);
          }
        }
      }
      if (leaders.size() > 1) {
        this.violations.add("two lead or work: " + leaders + " in " + world);
      }
    }

    private boolean leads(World world, int node) {
      Node each = world.nodes().get(node);
      JointState state = each.state();
      return state != null
          ? this.rules.leads(state, views(world, node, false))
          : world.stores().get(store(each)).holder() == node;
    }

    private static int store(Node node) {
      return node.kind().charAt(0) - 'a';
    }

    private long term(World world, int node) {
      return world.nodes().get(node).state() instanceof Leading leading ? leading.term() : 0;
    }

    /** A lease is granted, lost, or handed back by a node on one store alone. */
    private void leases(World world, int node) {
      Node each = world.nodes().get(node);
      for (int store = A; store <= B; store++) {
        Store lease = world.stores().get(store);
        if (!each.kind().contains(store == A ? "a" : "b")) {
          continue;
        }
        if (lease.holder() == node) {
          // Lost: the work of this node is told at once, as its deadline has passed.
          World lost = world.with(store, new Store(-1, lease.term()));
          add(lost.with(node, each.works(false)));
        } else if (lease.holder() == -1 && mayStand(world, node, store)) {
          long above = each.isOnList() ? this.rules.aboveTerm(store, views(world, node, false)) : 0;
          long term = Math.max(lease.term(), above) + 1;
          if (term <= HIGHEST_TERM) {
            add(world.with(store, new Store(node, term)));
          }
        }
      }
    }

    private boolean mayStand(World world, int node, int store) {
      JointState state = world.nodes().get(node).state();
      return state == null || this.rules.mayStand(state, store, views(world, node, false));
    }

    private void work(World world, int node) {
      Node each = world.nodes().get(node);
      if (each.works()) {
        add(world.with(node, each.works(false)));
      } else if (leads(world, node)) {
        add(world.with(node, each.works(true)));
      }
      if (each.state() == null
          && !each.works()
          && world.stores().get(store(each)).holder() == node) {
        add(world.with(
            store(each), new Store(-1, world.stores().get(store(each)).term())));
      }
    }

    /** A node on the list decides, or hands back a part that it need not keep. */
    private void step(World world, int node) {
      Node each = world.nodes().get(node);
      JointState state = each.state();
      if (state == null) {
        return;
      }
      for (boolean silent : new boolean[] {false, true}) {
        JointState next = this.rules.next(state, views(world, node, silent), 0);
        World stepped = world.with(node, each.with(forgetful(next)));
        if (next instanceof Leading leading && !(state instanceof Leading)) {
          if (leading.term() <= world.ledTerm()) {
            this.violations.add("leads in term " + leading.term() + " again: " + world);
          }
          stepped = new World(stepped.stores(), stepped.nodes(), leading.term());
        }
        add(stepped);
      }
      // A command ends the leadership at any instant.
      if (state instanceof Leading) {
        add(world.with(node, each.with(new Descending(true, JointState.Why.LOST))));
      }
      for (int part = A; part <= B; part++) {
        Store lease = world.stores().get(part);
        if (state instanceof Descending
            && lease.holder() == node
            && !this.rules.keeps(part, views(world, node, false), each.works())) {
          add(world.with(part, new Store(-1, lease.term())));
        }
      }
    }

    /** Leaves out instants: any wait may be over at any time. */
    private static JointState forgetful(JointState state) {
      return state instanceof Climbing climbing ? new Climbing(climbing.held(), 0, 0) : state;
    }

    private List<PartView> views(World world, int node, boolean silent) {
      List<PartView> views = new ArrayList<>();
      for (Store lease : world.stores()) {
        boolean holds = lease.holder() == node;
        boolean drains = world.nodes().get(node).state() instanceof Descending;
        views.add(new PartView(
            holds && !drains,
            holds,
            holds && !drains ? lease.term() : 0,
            true,
            lease.term(),
            Duration.ZERO,
            silent ? Duration.ofHours(1) : Duration.ZERO,
            Holder.OTHER));
      }
      return views;
    }
  }

  @ParameterizedTest
  @CsvSource({"a,ab,ab", "ab,ab,b", "a,a,ab", "ab,b,b"})
  void noTwoNodesOfNeighbouringKindsLeadOrWork(String first, String second, String third) {
    Search search = new Search(new JointRules(JointSimulation.SETTINGS), first, second, third);
    assertThat(search.run()).isEmpty();
    assertThat(search.led).as("states with a leader on the list").isPositive();
  }

  @Test
  void nodesOnEitherStoreAloneLeadSideBySideIfAStepIsSkipped() {
    assertThat(new Search(new JointRules(JointSimulation.SETTINGS), "a", "b", "ab").run())
        .isNotEmpty();
  }

  @ParameterizedTest
  @EnumSource(
      names = {
        "LEADS_IN_THE_LAST_PART_ALONE",
        "LEADS_WHILE_PARTS_SHOW_TWO_TERMS",
        "HANDS_BACK_WHILE_WORK_RUNS",
        "HANDS_BACK_THE_FIRST_PART_FIRST"
      })
  void aMistakeInTheRulesIsFound(JointMutant mutant) {
    List<String> found = new ArrayList<>(new Search(mutant.rules(), "a", "ab", "ab").run());
    found.addAll(new Search(mutant.rules(), "ab", "ab", "b").run());
    assertThat(found).isNotEmpty();
  }
}
