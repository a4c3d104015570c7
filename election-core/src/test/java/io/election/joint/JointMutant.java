package io.election.joint;

import io.election.joint.JointState.Climbing;
import io.election.joint.JointState.Leading;
import java.util.List;
import java.util.function.Supplier;

/** Mistakes in the rules of a list, each of which the search, the simulation or both must find. */
enum JointMutant {
  STANDS_FOR_ALL_PARTS_AT_ONCE(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean mayStand(JointState state, int part, List<PartView> parts) {
      return state instanceof Climbing;
    }
  }),
  LEADS_IN_THE_LAST_PART_ALONE(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean leads(JointState state, List<PartView> parts) {
      return state instanceof Leading && parts.get(parts.size() - 1).leads();
    }
  }),
  LEADS_WHILE_PARTS_SHOW_TWO_TERMS(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean haveOneTerm(List<PartView> parts) {
      return true;
    }
  }),
  /** As the one before, and does not seek one term either. */
  LEADS_IN_TWO_TERMS(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean haveOneTerm(List<PartView> parts) {
      return true;
    }

    @Override
    long aboveTerm(int part, List<PartView> parts) {
      return 0;
    }
  }),
  HANDS_BACK_WHILE_WORK_RUNS(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean keeps(int part, List<PartView> parts, boolean working) {
      return super.keeps(part, parts, false);
    }
  }),
  HANDS_BACK_THE_FIRST_PART_FIRST(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean keeps(int part, List<PartView> parts, boolean working) {
      return part > 0 && (working || parts.get(0).holds());
    }
  }),
  KEEPS_A_PART_WHILE_THE_NEXT_IS_OUT_OF_REACH(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    boolean isOutOfReach(Climbing climbing, PartView next, long now) {
      return false;
    }
  }),
  WAITS_FOREVER_FOR_A_NODE_THAT_WAITS_FOR_IT(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    long patience(PartView.Holder holder) {
      return Long.MAX_VALUE;
    }
  }),
  WAITS_ONLY_ITS_OWN_LEASE(() -> new JointRules(JointSimulation.SETTINGS) {
    @Override
    long giveUpAt(Climbing climbing, long opensAt) {
      return super.giveUpAt(
          climbing, climbing.since() + JointSimulation.SETTINGS.leaseDuration().toNanos());
    }
  });

  private final Supplier<JointRules> rules;

  JointMutant(Supplier<JointRules> rules) {
    this.rules = rules;
  }

  JointRules rules() {
    return this.rules.get();
  }
}
