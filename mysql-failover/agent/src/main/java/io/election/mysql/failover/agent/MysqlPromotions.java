package io.election.mysql.failover.agent;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.jdbc.CommitFence;
import io.election.store.LeaseStoreException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import javax.sql.DataSource;

/**
 * Stores the record as a row in the database of the election, which is not one of the set's
 * servers.
 */
final class MysqlPromotions implements Promotions {

  private static final String TABLE = """
      CREATE TABLE IF NOT EXISTS mysql_failover_promotion (
          service_id varchar(128) NOT NULL PRIMARY KEY,
          promotion mediumtext NOT NULL)
      """;

  private final DataSource database;
  private final CommitFence fence;
  private final ElectionService election;
  private final AgentProperties settings;
  private boolean hasTable;

  MysqlPromotions(
      DataSource database, CommitFence fence, ElectionService election, AgentProperties settings) {
    this.database = database;
    this.fence = fence;
    this.election = election;
    this.settings = settings;
  }

  @Override
  public Optional<Promotion> last() throws LeaseStoreException {
    try (Connection connection = connect();
        PreparedStatement statement = connection.prepareStatement(
            "SELECT promotion FROM mysql_failover_promotion WHERE service_id = ?")) {
      statement.setString(1, this.election.serviceId());
      try (ResultSet row = statement.executeQuery()) {
        return row.next()
            ? Optional.of(Promotion.parse(row.getString(1), this.settings))
            : Optional.empty();
      }
    } catch (SQLException ex) {
      throw new LeaseStoreException("The database of the election does not answer: " + ex, ex);
    }
  }

  @Override
  public boolean record(Promotion promotion) throws LeaseStoreException {
    try (Connection connection = connect()) {
      connection.setAutoCommit(false);
      try (PreparedStatement statement = connection.prepareStatement(
          "REPLACE INTO mysql_failover_promotion (service_id, promotion) VALUES (?, ?)")) {
        statement.setString(1, this.election.serviceId());
        statement.setString(2, promotion.print());
        statement.executeUpdate();
        this.fence.commit(connection, this.election, promotion.electionTerm());
        return true;
      } catch (LeadershipLostException ex) {
        return false;
      } finally {
        // A transaction that is still open would be committed by the return to autocommit.
        connection.rollback();
        connection.setAutoCommit(true);
      }
    } catch (SQLException ex) {
      throw new LeaseStoreException("It is unknown whether the promotion was recorded: " + ex, ex);
    }
  }

  private Connection connect() throws SQLException {
    Connection connection = this.database.getConnection();
    if (!this.hasTable) {
      try (Statement statement = connection.createStatement()) {
        statement.execute(TABLE);
        this.hasTable = true;
      } catch (SQLException ex) {
        connection.close();
        throw ex;
      }
    }
    return connection;
  }

  @Override
  public void close() {}
}
