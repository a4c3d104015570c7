package io.election.lease;

import io.election.store.LeaseRow;

/** A node of an older tool, which starts and stops but neither pauses nor loses its database. */
final class OlderNode implements Claimant {

  private final Simulation world;

  private final String id;

  private boolean runs;

  private int life;

  private boolean believes;

  OlderNode(Simulation world, String id) {
    this.world = world;
    this.id = id;
    if (this.world.draw(3) > 0) {
      start();
    }
    comeOrGo();
  }

  private void comeOrGo() {
    this.world.after(this.world.random.nextLong(6 * this.world.longestLease), () -> {
      if (this.world.faulty) {
        if (this.runs) {
          end();
        } else {
          start();
        }
        comeOrGo();
      }
    });
  }

  private void start() {
    this.world.tell(claim(), "starts");
    this.runs = true;
    ask(++this.life);
  }

  void end() {
    if (!this.runs) {
      return;
    }
    this.world.tell(claim(), "ends");
    this.runs = false;
    this.believes = false;
  }

  private void ask(int life) {
    this.world.after(latency(), () -> {
      LeaseRow before = this.world.database.row(Sent.SERVICE);
      boolean changed =
          this.world.database.contend(Sent.SERVICE, this.id, Simulation.OLDER_INTERVAL);
      this.world.server.remember();
      if (changed && (before == null || !before.leaderId().equals(this.id))) {
        this.world.tell("    the server does it:", claim(), "has the row");
      }
      this.world.after(latency(), () -> answered(life, changed));
    });
  }

  private void answered(int life, boolean changed) {
    if (!this.runs || life != this.life) {
      return;
    }
    if (changed != this.believes) {
      this.believes = changed;
      this.world.tell(claim(), changed ? "believes that it leads" : "no longer believes it leads");
      if (changed) {
        this.world.tally.olderLeaderships++;
      }
    }
    this.world.after(Simulation.SECOND, () -> {
      if (this.runs && life == this.life) {
        ask(life);
      }
    });
  }

  private long latency() {
    return this.world.random.nextLong(
        this.world.draw(4) == 0 ? 300 * Simulation.MILLI : 3 * Simulation.MILLI);
  }

  @Override
  public boolean leads() {
    return this.believes;
  }

  @Override
  public String claim() {
    return this.id + " of an older tool";
  }
}
