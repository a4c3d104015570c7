CREATE TABLE customer (id int PRIMARY KEY);
