package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class ElectionLogTest {

  private static final LeaseStoreException FAILURE = new LeaseStoreException("it is gone.");

  private final Logger logger = (Logger) LoggerFactory.getLogger(Elector.class);

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  private final ElectionLog log = new ElectionLog("test");

  @BeforeEach
  void listen() {
    this.logger.setLevel(Level.DEBUG);
    this.logger.addAppender(this.logged);
    this.logged.start();
  }

  @AfterEach
  void hush() {
    this.logger.detachAppender(this.logged);
    this.logger.setLevel(Level.OFF);
  }

  private void assertThatLinesAre(String... lines) {
    assertThat(this.logged.list)
        .extracting((event) -> event.getLevel() + " " + event.getFormattedMessage())
        .containsExactly(lines);
    this.logged.list.clear();
  }

  @Test
  void whatHarmsNoLeadershipIsLoggedForDebugging() {
    this.log.historyUnknown(FAILURE, false, 0);
    this.log.notPruned(FAILURE);
    this.log.membersNotRead(FAILURE);
    this.log.notWithdrawn(FAILURE);
    this.log.pollFailed(FAILURE);
    this.log.renewalListenerFailed(new IllegalStateException());
    this.log.interrupted(new InterruptedException());
    assertThatLinesAre(
        "DEBUG the history was not read",
        "DEBUG the history was not pruned",
        "DEBUG the members could not be read again",
        "DEBUG this node is shown as a member for another three leases",
        "DEBUG the records were not read after the store had signalled a change",
        "DEBUG a listener of renewals failed",
        "DEBUG interrupted; continues to wait");
  }

  @Test
  void unknownMembersAreLoggedOnceUntilTheyAreKnownAgain() {
    this.log.membersKnown();
    this.log.membersUnknown(FAILURE);
    this.log.membersUnknown(FAILURE);
    this.log.membersKnown();
    this.log.membersKnown();
    assertThatLinesAre(
        "INFO the members are unknown: it is gone. Until that works, no members are shown and designations are not checked",
        "DEBUG announcing this node failed",
        "DEBUG announcing this node failed again",
        "INFO the members are known again");
  }
}
