package io.election.store;

import io.election.store.StoreList.Part;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The list of production, and mistakes in it. */
public enum JointMutant {
  NONE,

  THE_LEASE_OF_THE_FIRST_PART_COUNTS {
    @Override
    JointRule rule() {
      return new JointRule() {
        @Override
        @Nullable
        Long lease(List<LeaseRow> rows, @Nullable Long promised) {
          return rows.get(0).leaseMillis();
        }
      };
    }
  },

  A_LIST_IS_OWN_IF_ONE_PART_IS {
    @Override
    JointRule rule() {
      return new JointRule() {
        @Override
        boolean isOwn(List<LeaseRow> rows) {
          return rows.stream().anyMatch(LeaseRow::own);
        }
      };
    }
  },

  TWO_TERMS_ARE_LED {
    @Override
    JointRule rule() {
      return new JointRule() {
        @Override
        boolean mayLead(Collection<Long> terms) {
          return true;
        }
      };
    }
  },

  THE_FIRST_PART_IS_LED_ALONE {
    @Override
    JointLeaseStore list(StoreList list, Supplier<String> nodeId) {
      Part first = list.byName().get(0);
      return new JointLeaseStore(list, nodeId, rule()) {
        @Override
        public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
            throws LeaseStoreException {
          LeaseRow row = JointRule.parts(seen).get(0);
          return row == null
              ? OptionalLong.empty()
              : first.call((store) -> store.acquire(serviceId, row, claim));
        }

        @Override
        public Renewals renew(String node, Map<String, Long> terms) throws LeaseStoreException {
          return first.call((store) -> store.renew(node, terms));
        }
      };
    }
  },

  ONE_PART_THAT_IS_RENEWED_IS_ENOUGH {
    @Override
    JointLeaseStore list(StoreList list, Supplier<String> nodeId) {
      return new JointLeaseStore(list, nodeId, rule()) {
        @Override
        public Renewals renew(String node, Map<String, Long> terms) throws LeaseStoreException {
          Set<String> renewed = new HashSet<>();
          LeaseStoreException failure = null;
          for (Part part : list.byName()) {
            try {
              renewed.addAll(part.call((store) -> store.renew(node, terms)).renewed());
            } catch (LeaseStoreException ex) {
              failure = ex;
            }
          }
          if (failure != null && renewed.isEmpty()) {
            throw failure;
          }
          return new Renewals(new LinkedHashSet<>(renewed));
        }
      };
    }
  },

  /** Instead of what was watched for a lease. */
  WHAT_IS_FOUND_IS_ACQUIRED {
    @Override
    JointLeaseStore list(StoreList list, Supplier<String> nodeId) {
      return new JointLeaseStore(list, nodeId, rule()) {
        @Override
        public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
            throws LeaseStoreException {
          Reading found = read(Set.of(serviceId)).get(serviceId);
          return found != null
              ? super.acquire(serviceId, found.row(), claim)
              : OptionalLong.empty();
        }
      };
    }
  },

  /**
   * Harmless: a part that rests meanwhile may be taken by another node, and the acquisition then
   * finds that it has changed. A touch keeps a record for a node; it grants nothing.
   */
  ONE_PART_IS_TOUCHED {
    @Override
    JointLeaseStore list(StoreList list, Supplier<String> nodeId) {
      return new JointLeaseStore(list, nodeId, rule()) {
        @Override
        public Optional<LeaseRow> touch(String serviceId, LeaseRow seen)
            throws LeaseStoreException {
          List<@Nullable LeaseRow> rows = new ArrayList<>(JointRule.parts(seen));
          for (int i = 0; i < rows.size(); i++) {
            LeaseRow row = rows.get(i);
            if (row != null && row.leaderId().equals(nodeId.get())) {
              Optional<LeaseRow> touched =
                  list.byName().get(i).call((store) -> store.touch(serviceId, row));
              rows.set(i, touched.orElse(null));
              return Optional.ofNullable(rule().join(rows, nodeId.get(), seen.leaseMillis()));
            }
          }
          return Optional.empty();
        }
      };
    }
  },

  /**
   * Harmless, also for hand-backs: a part is released only by a node that has stepped down, so it
   * does not matter which is free first. If two nodes take parts in different orders, both may have
   * to give them back, once for each race that they run.
   */
  EACH_NODE_WRITES_IN_AN_ORDER_OF_ITS_OWN {
    @Override
    String name(String part, int life) {
      return life % 2 == 0 ? part : "not " + (part.equals("a") ? "b" : "a");
    }
  };

  JointRule rule() {
    return new JointRule();
  }

  JointLeaseStore list(StoreList list, Supplier<String> nodeId) {
    return new JointLeaseStore(list, nodeId, rule());
  }

  /** Returns the store of a node on a list, or on a part alone. */
  public LeaseStore store(List<JointPart> parts, LeaseSettings settings, String nodeId) {
    return parts.size() == 1 && parts.get(0) instanceof JointPart.Leases alone
        ? alone.store()
        : list(new StoreList(parts, settings, () -> 0, Runnable::run), () -> nodeId);
  }

  /** Returns the name of a part in the list of a process. */
  String name(String part, int life) {
    return part;
  }
}
