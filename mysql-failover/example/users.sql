-- On each new server, before its agent starts.
SET GLOBAL super_read_only = OFF;
CREATE USER 'agent'@'127.0.0.1' IDENTIFIED BY 'change-this';
GRANT ALL ON *.* TO 'agent'@'127.0.0.1';
CREATE USER 'replica'@'10.0.0.%' IDENTIFIED BY 'change-this-too' REQUIRE SSL;
GRANT REPLICATION SLAVE, BACKUP_ADMIN ON *.* TO 'replica'@'10.0.0.%';
-- All servers begin with the same transactions: none.
RESET BINARY LOGS AND GTIDS;
SET GLOBAL super_read_only = ON;
