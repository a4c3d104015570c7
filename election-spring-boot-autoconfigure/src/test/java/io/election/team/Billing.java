package io.election.team;

import io.election.LeaderOnly;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** What only one node may do, in a transaction of JPA. */
@Service
class Billing {

  private final Invoices invoices;

  Billing(Invoices invoices) {
    this.invoices = invoices;
  }

  @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
  @Transactional
  public void bill(long id, Runnable meanwhile) {
    this.invoices.save(new Invoice(id, 100));
    meanwhile.run();
  }
}
