CREATE TABLE zero (id bigint PRIMARY KEY);
