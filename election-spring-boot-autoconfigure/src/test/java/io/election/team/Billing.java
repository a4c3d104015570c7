package io.election.team;

import io.election.LeaderOnly;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Leader-only work in a JPA transaction. */
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
