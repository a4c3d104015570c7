CREATE TABLE base (id bigint PRIMARY KEY);
