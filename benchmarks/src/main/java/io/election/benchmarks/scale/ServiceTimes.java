package io.election.benchmarks.scale;

import io.election.benchmarks.servers.Server;
import io.election.benchmarks.servers.Server.Place;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * What a call costs, in microseconds. Processor time, of the server alone and of both ends; a renewal
 * and a take-over also wait for the disk.
 *
 * @param read a look at one election
 * @param readRow a look at one more
 * @param renew a renewal of one lease
 * @param renewRow a renewal of one more
 * @param take a take-over
 * @param refusedTake a take-over that comes too late
 * @param connect a connection, with all that is set on it
 * @param commit the time that a write waits for the disk, over its processor time
 * @param share which part of the processor time is the server's
 */
record ServiceTimes(
    double read,
    double readRow,
    double renew,
    double renewRow,
    double take,
    double refusedTake,
    double connect,
    double commit,
    double share) {

  private static final int CALLS = 150;

  private static final int ROWS = 100;

  private static final Pattern NUMBER = Pattern.compile("(\\w+)=([0-9.]+)");

  /** Measures on one connection. */
  static ServiceTimes measure(Server server) throws LeaseStoreException {
    Place place = server.newPlace();
    String address = place.address(place.port());
    ElectionDatabase database = new ElectionDatabase(
        new DriverManagerDataSource(address, place.username(), place.password()), address);
    Duration patience = Duration.ofSeconds(10);
    try (MysqlLeaseStore store = new MysqlLeaseStore(
        database, MysqlLeaseStore.SchemaMode.MIGRATE, patience, patience, false)) {
      return new Measurement(server, store).times();
    }
  }

  /** Reads what {@link #toString()} gave. */
  static ServiceTimes parse(String text) {
    Map<String, Double> values = new HashMap<>();
    Matcher matcher = NUMBER.matcher(text);
    while (matcher.find()) {
      values.put(matcher.group(1), Double.valueOf(matcher.group(2)));
    }
    return new ServiceTimes(
        value(values, "read"),
        value(values, "readRow"),
        value(values, "renew"),
        value(values, "renewRow"),
        value(values, "take"),
        value(values, "refusedTake"),
        value(values, "connect"),
        value(values, "commit"),
        value(values, "share"));
  }

  /** What is the server's part of it. */
  ServiceTimes ofServer() {
    return new ServiceTimes(
        this.read * this.share,
        this.readRow * this.share,
        this.renew * this.share,
        this.renewRow * this.share,
        this.take * this.share,
        this.refusedTake * this.share,
        this.connect * this.share,
        this.commit,
        1);
  }

  private static double value(Map<String, Double> values, String name) {
    Double value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("No " + name + "=…");
    }
    return value;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "read=%.0f readRow=%.2f renew=%.0f renewRow=%.2f take=%.0f refusedTake=%.0f connect=%.0f commit=%.0f"
            + " share=%.2f",
        this.read,
        this.readRow,
        this.renew,
        this.renewRow,
        this.take,
        this.refusedTake,
        this.connect,
        this.commit,
        this.share);
  }

  /** A measurement by calls one after the other. */
  private static final class Measurement {

    private final Server server;

    private final LeaseStore store;

    private final Set<String> all = new LinkedHashSet<>();

    private final Map<String, Long> terms = new HashMap<>();

    private double serverCpu;

    private double allCpu;

    private double waited;

    Measurement(Server server, LeaseStore store) {
      this.server = server;
      this.store = store;
    }

    ServiceTimes times() throws LeaseStoreException {
      for (int i = 0; i < ROWS; i++) {
        String id = "calibration-" + i;
        this.all.add(id);
        LeaseRow row = this.store.create(id, "node", 10_000, 0).orElseThrow();
        this.terms.put(id, row.term());
        if (!this.store.lead(id, row, 10_000)) {
          throw new IllegalStateException("Nobody leads in " + id);
        }
      }
      Set<String> one = Set.of("calibration-0");
      Map<String, Long> oneTerm =
          Map.of("calibration-0", this.terms.getOrDefault("calibration-0", 0L));
      for (int i = 0; i < 5; i++) {
        // Warms up both ends.
        micros(() -> this.store.read(this.all));
        micros(() -> renew(this.terms));
      }
      this.serverCpu = 0;
      this.allCpu = 0;
      double read = micros(() -> this.store.read(one));
      double readAll = micros(() -> this.store.read(this.all));
      this.waited = 0;
      double renew = micros(() -> renew(oneTerm));
      double commit = this.waited;
      double renewAll = micros(() -> renew(this.terms));
      double take = micros(this::take);
      LeaseRow old = reading().row();
      take();
      double refused =
          micros(() -> this.store.take("calibration-1", old, "node", 10_000, 0, "EXPIRED"));
      double connected = micros(() -> {
        this.store.close();
        this.store.read(one);
      });
      return new ServiceTimes(
          read,
          Math.max(0, (readAll - read) / (ROWS - 1)),
          renew,
          Math.max(0, (renewAll - renew) / (ROWS - 1)),
          take,
          refused,
          Math.max(0, connected - read),
          commit,
          this.allCpu > 0 ? this.serverCpu / this.allCpu : 0.5);
    }

    /** What is refused costs less. */
    private void renew(Map<String, Long> leases) throws LeaseStoreException {
      if (!this.store.renew("node", leases).equals(leases.keySet())) {
        throw new IllegalStateException("Not all leases were renewed");
      }
    }

    private LeaseStore.Reading reading() throws LeaseStoreException {
      LeaseStore.Reading reading = this.store.read(Set.of("calibration-1")).get("calibration-1");
      if (reading == null) {
        throw new IllegalStateException("The record is gone");
      }
      return reading;
    }

    private void take() throws LeaseStoreException {
      this.store.take("calibration-1", reading().row(), "node", 10_000, 0, "EXPIRED");
    }

    /** The processor time of a call at both ends; the rest of its duration is added to the waits. */
    private double micros(Question question) throws LeaseStoreException {
      double cpu = cpu();
      double ownCpu = ownCpu();
      long start = System.nanoTime();
      for (int i = 0; i < CALLS; i++) {
        question.ask();
      }
      double wall = (System.nanoTime() - start) / 1e3 / CALLS;
      double ofServer = (cpu() - cpu) * 1e6 / CALLS;
      double own = (ownCpu() - ownCpu) * 1e6 / CALLS;
      if (Double.isNaN(ofServer)) {
        return wall;
      }
      this.serverCpu += ofServer;
      this.allCpu += ofServer + own;
      this.waited = Math.max(0, wall - ofServer - own);
      return ofServer + own;
    }

    private double cpu() {
      return this.server.counters().getOrDefault("cpu_seconds", Double.NaN);
    }

    private static double ownCpu() {
      return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9;
    }
  }

  /** A call to the store. */
  @FunctionalInterface
  private interface Question {

    void ask() throws LeaseStoreException;
  }
}
