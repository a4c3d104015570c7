package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.support.Signal;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A fault of a set. Servers and agents that it ends are started again later. */
enum Fault {
  SOURCE_KILLED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.set.get(source).kill();
      if (random.nextBoolean()) {
        pass(random.nextInt(4_000));
        set.set.get(source).startAgain();
      } else {
        set.awaitWrites((server) -> !server.equals(source));
      }
    }
  },
  SOURCE_PAUSED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.set.get(source).pause();
      passLongerThanALease(random);
      set.resumed.put(source, System.nanoTime());
      set.set.get(source).resume();
    }
  },
  SOURCE_UNPLUGGED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.set.get(source).unplug();
      passLongerThanALease(random);
      set.set.get(source).plugIn();
    }
  },
  SOURCE_AND_AGENT_CUT_OFF {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.set.get(source).unplug();
      set.proxies.get(source).cut();
      passLongerThanALease(random);
      set.awaitWrites((server) -> !server.equals(source));
      set.set.get(source).plugIn();
      set.proxies.get(source).heal();
    }
  },
  SOURCE_CUT_OFF_FROM_ETCD {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.proxies.get(source).cut();
      passLongerThanALease(random);
      set.awaitWrites((server) -> !server.equals(source));
      set.proxies.get(source).heal();
    }
  },
  SOURCES_AGENT_KILLED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.agents.get(source).close();
      if (random.nextBoolean()) {
        set.agents.get(source).start();
      }
      passLongerThanALease(random);
    }
  },
  SOURCES_AGENT_PAUSED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.agents.get(source).send(Signal.STOP);
      passLongerThanALease(random);
      set.agents.get(source).send(Signal.CONT);
    }
  },
  /** The agent managed its server all the time, but could not renew its lease for part of it. */
  SOURCES_AGENT_PAUSED_AFTER_LOSS_OF_ETCD {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.proxies.get(source).cut();
      pass(random.nextInt(2_000, 3_500));
      set.agents.get(source).send(Signal.STOP);
      passLongerThanALease(random);
      set.agents.get(source).send(Signal.CONT);
      set.proxies.get(source).heal();
    }
  },
  PROMOTING_AGENT_KILLED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      List<String> step = any(STEPS, random);
      System.out.printf("After %s%n", step);
      try (FailoverSet.Traps traps = set.trapAgents(source, step, false)) {
        set.set.get(source).kill();
        traps.awaitVictim().close();
        pass(random.nextInt(5_000));
      }
    }
  },
  /** The agent goes on with its promotion when another agent may lead. */
  PROMOTING_AGENT_PAUSED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      List<String> step = any(STEPS, random);
      System.out.printf("After %s%n", step);
      try (FailoverSet.Traps traps = set.trapAgents(source, step, true)) {
        set.set.get(source).kill();
        AgentProcess victim = traps.awaitVictim();
        victim.send(Signal.STOP);
        passLongerThanALease(random);
        traps.release();
        victim.send(Signal.CONT);
        pass(random.nextInt(5_000));
      }
    }
  },
  REPLICA_KILLED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      Server replica = set.set.get(replica(set, source, random));
      replica.kill();
      pass(random.nextInt(5_000));
      replica.startAgain();
    }
  },
  REPLICAS_AGENT_KILLED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.agents.get(replica(set, source, random)).close();
      pass(random.nextInt(5_000));
    }
  },
  REPLICA_LAGS {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      set.set.get(replica(set, source, random)).execute("STOP REPLICA SQL_THREAD");
      pass(random.nextInt(1_000, 4_000));
      set.set.get(source).kill();
      set.awaitWrites((server) -> !server.equals(source));
    }
  },
  /**
   * The freshest replica is lost right after it was elected, while it applies received
   * transactions. It has acknowledged transactions that the stale replicas lack.
   */
  WINNER_UNPLUGGED {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      List<String> replicas = shuffledReplicas(set, source, random);
      List<String> fresh = replicas.subList(0, set.acknowledging);
      List<String> stale = replicas.subList(set.acknowledging, replicas.size());
      String winner;
      try (FailoverSet.Locks locks = set.lockTables(fresh)) {
        leaveBehind(set, stale);
        set.awaitWrites(source::equals);
        set.set.get(source).kill();
        stale.forEach((name) -> set.agents.get(name).send(Signal.CONT));
        winner = set.awaitRole(Role.PROMOTING);
        set.set.get(winner).unplug();
        long unplugged = System.nanoTime();
        System.out.printf("%s had won, %s are stale%n", winner, stale);
        if (stale.contains(winner)) {
          set.violations.add(winner + " has won, which lacks what was acknowledged");
        }
        locks.releaseExcept(winner);
        if (set.acknowledging > 1) {
          System.out.printf(
              "Then %s%n", set.awaitRole(Role.SOURCE)); // too few are left to acknowledge
        } else if (set.isWrittenToBefore("replicas are needed", unplugged)) {
          set.violations.add("a source accepts writes without " + winner);
        }
        set.set.get(winner).plugIn();
      }
    }
  },
  /** The servers that have received least start first. */
  ALL_RESTARTED {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      List<String> replicas = shuffledReplicas(set, source, random);
      List<String> stale = replicas.subList(set.acknowledging, replicas.size());
      leaveBehind(set, stale);
      set.awaitWrites(source::equals);
      List<Runnable> kills = new ArrayList<>();
      set.agents.values().forEach((agent) -> kills.add(agent::close));
      set.set.servers.values().forEach((server) -> kills.add(server::kill));
      Collections.shuffle(kills, random);
      kills.forEach(Runnable::run);
      long killed = System.nanoTime();
      System.out.printf("First %s, without %s%n", stale, replicas.subList(0, set.acknowledging));
      set.agents.values().forEach(AgentProcess::start);
      stale.forEach((name) -> set.set.get(name).startAgain());
      set.awaitAnswers(stale);
      pass(random.nextInt(3_000, 6_000));
      if (set.acknowledgesWhatWasSent(killed)) {
        set.violations.add("a source accepts writes that lacks what was acknowledged");
      }
    }
  },
  /** Servers cannot reach each other, while agents, clients and etcd can reach all of them. */
  SOURCE_CUT_OFF_FROM_REPLICAS {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      List<String> replicas = shuffledReplicas(set, source, random);
      List<String> lost = replicas.subList(0, random.nextInt(1, replicas.size() + 1));
      boolean killed = random.nextBoolean();
      System.out.printf("From %s, %s%n", lost, killed ? "and killed then" : "and back then");
      Server server = set.set.get(source);
      if (!lost.stream().allMatch((name) -> server.cutOffFrom(set.set.get(name)))) {
        System.out.println("Skipped: needs root on the host of the servers, iptables and nsenter");
        return;
      }
      passLongerThanALease(random);
      if (killed) {
        server.kill();
        set.awaitWrites((name) -> !name.equals(source));
      } else if (server.isRunning()) { // its guard may have shut it down
        server.reachAll();
      }
    }
  },
  ETCD_PAUSED {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      set.etcd.send(Signal.STOP);
      passLongerThanALease(random);
      set.etcd.send(Signal.CONT);
    }
  },
  /** What the replicas acknowledged that lose their relay logs is nowhere but on the source. */
  RELAY_LOG_LOST {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      List<String> replicas = shuffledReplicas(set, source, random);
      leaveBehind(set, replicas.subList(set.acknowledging, replicas.size()));
      set.awaitWrites(source::equals);
      for (String name : replicas.subList(0, random.nextInt(1, set.acknowledging + 1))) {
        FactsIT.Happens happens = any(List.of(FactsIT.Happens.values()), random);
        System.out.printf("%s of %s%n", happens, name);
        set.agents.get(name).send(Signal.STOP);
        set.set.get(name).execute("STOP REPLICA SQL_THREAD");
        if (random.nextBoolean()) {
          set.set.get(source).kill(); // otherwise it loses them while it serves
        }
        happens.to(set.set.get(name));
      }
      set.set.get(source).kill();
      replicas.forEach((name) -> set.agents.get(name).send(Signal.CONT));
      passLongerThanALease(random);
    }
  },
  /** The backup has what was acknowledged before, and its server's name that of a replica. */
  BACKUP_RESTORED {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      List<String> replicas = shuffledReplicas(set, source, random);
      List<String> restored = replicas.subList(0, random.nextInt(1, set.acknowledging + 1));
      for (String name : restored) {
        set.agents.get(name).close();
        set.rebuilt.put(name, System.nanoTime());
        try (MysqlServer server = set.set.get(name).managed()) {
          server
              .replication()
              .rebuild(set.set.get(source).host() + ":3306", "replica", ReplicationSet.PASSWORD);
        } catch (SQLException ex) {
          // It shuts down.
        }
        set.until("cloned", () -> !set.set.get(name).isRunning());
        if (random.nextBoolean()) {
          set.set.get(name).changeUuid(UUID.randomUUID().toString());
        }
      }
      List<String> others = replicas.subList(restored.size(), replicas.size());
      leaveBehind(set, others.subList(Math.min(set.acknowledging, others.size()), others.size()));
      pass(random.nextInt(1_000));
      set.set.get(source).kill();
      String lost = any(others, random); // it may be the only one that has acknowledged
      System.out.printf("%s, without %s%n", restored, lost);
      set.set.get(lost).kill();
      restored.forEach((name) -> set.set.get(name).startAgain());
      restored.forEach((name) -> set.agents.get(name).start());
      others.forEach((name) -> set.agents.get(name).send(Signal.CONT));
      passLongerThanALease(random);
    }
  },
  SETTING_CHANGED {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      String setting = any(SETTINGS, random);
      String server = random.nextInt(4) == 0 ? replica(set, source, random) : source;
      boolean killed = random.nextBoolean();
      System.out.printf("%s on %s%s%n", setting, server, killed ? ", which is killed then" : "");
      set.set.get(server).execute("SET GLOBAL " + setting);
      pass(random.nextInt(2_500, 6_000)); // an agent has two seconds
      if (killed) {
        set.set.get(server).kill();
      } else {
        set.until("set right", () -> {
          try {
            set.set
                .get(server)
                .execute(
                    "SET GLOBAL sync_binlog = 1", "SET GLOBAL rpl_semi_sync_replica_enabled = ON");
            return true;
          } catch (SQLException ex) {
            return !set.set.get(server).isRunning();
          }
        });
      }
    }
  },
  REPLICAS_DELAYED {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      List<String> replicas = shuffledReplicas(set, source, random);
      List<String> delayed = replicas.subList(0, random.nextInt(1, replicas.size() + 1));
      System.out.println("Of " + delayed);
      delay(set, delayed, 300);
      pass(random.nextInt(3_000));
      set.set.get(source).kill();
      passLongerThanALease(random);
      delay(set, delayed, 0);
    }

    private void delay(FailoverSet set, List<String> servers, int seconds) throws SQLException {
      for (String name : servers) {
        set.agents.get(name).send(Signal.STOP);
        set.set
            .get(name)
            .execute(
                "STOP REPLICA SQL_THREAD",
                "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = " + seconds,
                "START REPLICA SQL_THREAD");
        set.agents.get(name).send(Signal.CONT);
      }
    }
  },
  REPLICATION_STOPPED_IN_A_LOOP {
    @Override
    void strike(FailoverSet set, String source, Random random) {
      Server replica = set.set.get(replica(set, source, random));
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(random.nextInt(5_000, 9_000));
      long kill = end - TimeUnit.SECONDS.toNanos(random.nextInt(3, 6));
      boolean killed = false;
      while (end - System.nanoTime() > 0) {
        try {
          replica.execute("STOP REPLICA");
        } catch (SQLException ex) {
          // It may be connecting, or the source.
        }
        if (!killed && kill - System.nanoTime() < 0) {
          killed = true;
          set.set.get(source).kill();
        }
      }
    }
  },
  SWITCH_OVER {
    @Override
    void strike(FailoverSet set, String source, Random random) throws Exception {
      String target = replica(set, source, random);
      System.out.printf(
          "To %s: %s%n", target, set.agents.get(source).switchOver(target).body());
    }
  };

  /**
   * The steps of a promotion, as sequences of statements. The promoting agent is killed or paused
   * before it sees the answer to the last statement of a step. The promotion is recorded in etcd between the third and
   * the fourth step.
   */
  private static final List<List<String>> STEPS = List.of(
      List.of("stop replica io_thread"),
      List.of("wait_for_executed_gtid_set"),
      List.of("reset replica all"),
      List.of("reset replica all", "rpl_semi_sync_source_wait_for_replica_count"),
      List.of("create event mysql_failover.guard"),
      List.of("insert into mysql_failover.promotion"),
      List.of("global read_only = off"));

  private static final List<String> SETTINGS = List.of(
      "rpl_semi_sync_source_enabled = OFF",
      "rpl_semi_sync_source_timeout = 1000",
      "rpl_semi_sync_source_wait_no_replica = OFF",
      "rpl_semi_sync_source_wait_for_replica_count = 1",
      "rpl_semi_sync_replica_enabled = OFF",
      "sync_binlog = 0");

  /** Injects the fault, and repairs at least what a restart would not repair. */
  abstract void strike(FailoverSet set, String source, Random random) throws Exception;

  private static String replica(FailoverSet set, String source, Random random) {
    return any(replicas(set, source), random);
  }

  private static <T> T any(List<T> some, Random random) {
    return some.get(random.nextInt(some.size()));
  }

  private static List<String> replicas(FailoverSet set, String source) {
    return set.agents.keySet().stream().filter((name) -> !name.equals(source)).toList();
  }

  private static List<String> shuffledReplicas(FailoverSet set, String source, Random random) {
    List<String> replicas = new ArrayList<>(replicas(set, source));
    Collections.shuffle(replicas, random);
    return replicas;
  }

  /**
   * Stops the receivers of replicas, and pauses their agents, which would restart the receivers.
   */
  private static void leaveBehind(FailoverSet set, List<String> replicas) throws SQLException {
    for (String name : replicas) {
      set.agents.get(name).send(Signal.STOP);
      set.set.get(name).execute("STOP REPLICA IO_THREAD");
    }
  }

  private static void passLongerThanALease(Random random) {
    pass((int) FailoverSet.LEASE.toMillis() + 500 + random.nextInt(4_000));
  }

  /** Waits while the fault lasts. */
  private static void pass(int millis) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (end - System.nanoTime() > 0) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
