-- How long reading an answer took when what it leads to was looked for.
ALTER TABLE followed ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 0;
