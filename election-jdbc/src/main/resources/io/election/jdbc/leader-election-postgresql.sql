CREATE TABLE leader_election (
    service_id       varchar(128) COLLATE "C" NOT NULL,
    leader_id        varchar(128) COLLATE "C" NOT NULL,
    last_active_time timestamptz(6) NOT NULL DEFAULT statement_timestamp(),
    term             bigint NOT NULL DEFAULT 0,
    version          bigint NOT NULL DEFAULT 0,
    lease_millis     bigint NULL,
    seal             varchar(128) COLLATE "C" NULL,
    PRIMARY KEY (service_id)
) WITH (fillfactor = 50);
CREATE TABLE leader_election_history (
    service_id   varchar(128) COLLATE "C" NOT NULL,
    term         bigint NOT NULL,
    leader_id    varchar(128) COLLATE "C" NOT NULL,
    lease_millis bigint NULL,
    elected_at   timestamptz(6) NOT NULL DEFAULT statement_timestamp(),
    ended_at     timestamptz(6) NULL,
    reason       varchar(255) NULL,
    end_reason   varchar(32) NULL,
    ended_by     varchar(128) NULL,
    end_note     varchar(255) NULL,
    PRIMARY KEY (service_id, term)
);
CREATE TABLE leader_election_member (
    node_id      varchar(128) COLLATE "C" NOT NULL,
    joined_at    timestamptz(6) NOT NULL DEFAULT statement_timestamp(),
    seen_at      timestamptz(6) NOT NULL DEFAULT statement_timestamp(),
    lease_millis bigint NOT NULL,
    eligible     smallint NOT NULL,
    services     text NULL,
    paused       text NULL,
    version      varchar(64) NULL,
    PRIMARY KEY (node_id)
) WITH (fillfactor = 50);
