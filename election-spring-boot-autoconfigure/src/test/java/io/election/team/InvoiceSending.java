package io.election.team;

import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;

/** Public, so that the compiler generates bridge methods for those of its base class. */
@Component
public class InvoiceSending extends ScheduledSending {

  private final TransactionTemplate transaction;

  private final Invoices invoices;

  InvoiceSending(Runs runs, TransactionTemplate transaction, Invoices invoices) {
    super(runs);
    this.transaction = transaction;
    this.invoices = invoices;
  }

  @Override
  void sendAll() {
    this.transaction.executeWithoutResult(
        (status) -> this.invoices.findBySentFalse().forEach(Invoice::send));
  }
}
