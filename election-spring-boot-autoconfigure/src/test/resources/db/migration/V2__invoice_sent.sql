ALTER TABLE invoice ADD COLUMN sent boolean NOT NULL DEFAULT false;
