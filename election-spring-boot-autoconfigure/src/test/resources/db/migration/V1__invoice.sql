CREATE TABLE invoice (id bigint PRIMARY KEY, amount bigint NOT NULL);
