package io.election.team;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;

@Entity
class Invoice {

  @Id
  private long id;

  @Column(updatable = false)
  private long amount;

  private boolean sent;

  Invoice() {}

  Invoice(long id, long amount) {
    this.id = id;
    this.amount = amount;
  }

  void send() {
    this.sent = true;
  }
}
