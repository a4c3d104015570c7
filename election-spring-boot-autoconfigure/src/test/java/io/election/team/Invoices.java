package io.election.team;

import io.election.LeaderOnly;
import java.util.List;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.transaction.annotation.Transactional;

interface Invoices extends JpaRepository<Invoice, Long> {

  List<Invoice> findBySentFalse();

  @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
  @Transactional
  @Modifying
  @Query(value = "UPDATE invoice SET amount = amount + 1", nativeQuery = true)
  Integer addFee();
}
