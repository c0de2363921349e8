ALTER TABLE deliveries ADD COLUMN shown_at BIGINT;
