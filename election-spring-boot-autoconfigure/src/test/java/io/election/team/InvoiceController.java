package io.election.team;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
class InvoiceController {

  private final Invoices invoices;

  InvoiceController(Invoices invoices) {
    this.invoices = invoices;
  }

  @GetMapping("/invoices/count")
  long count() {
    return this.invoices.count();
  }
}
