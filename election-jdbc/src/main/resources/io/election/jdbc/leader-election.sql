CREATE TABLE leader_election (
    service_id       varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                     COMMENT 'the election',
    leader_id        varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                     COMMENT 'holder or designated holder; empty if vacant',
    last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
                     COMMENT 'last write; for people',
    term             bigint NOT NULL DEFAULT 0 COMMENT 'grows with every leadership',
    version          bigint NOT NULL DEFAULT 0 COMMENT 'grows with every write',
    lease_millis     bigint NULL COMMENT 'promised to the holder; 0 if released',
    seal             varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
                     COMMENT 'who led last, and what it left',
    PRIMARY KEY (service_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='leader election';
CREATE TABLE leader_election_history (
    service_id   varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    term         bigint NOT NULL,
    leader_id    varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lease_millis bigint NULL,
    elected_at   timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    ended_at     timestamp(6) NULL DEFAULT NULL,
    reason       varchar(255) NULL,
    end_reason   varchar(32) NULL,
    ended_by     varchar(128) NULL,
    end_note     varchar(255) NULL,
    PRIMARY KEY (service_id, term)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
  COMMENT='terms of leader_election; its newest entry of an election must stay';
CREATE TABLE leader_election_member (
    node_id      varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    joined_at    timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    seen_at      timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    lease_millis bigint NOT NULL,
    eligible     tinyint NOT NULL,
    services     mediumtext NULL,
    paused       mediumtext NULL,
    version      varchar(64) NULL,
    PRIMARY KEY (node_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
  COMMENT='nodes of leader_election; for people, and may be emptied';
