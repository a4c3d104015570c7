--liquibase formatted sql

--changeset test:1
CREATE TABLE orders (id bigint PRIMARY KEY);
