-- Bytes outside the database: where they are, and how many.

-- A digest of NULL is not compared: the check of the content holds for bytes that are in the table.
ALTER TABLE tq.blob
    ALTER COLUMN content DROP NOT NULL,
    ADD COLUMN store text,
    ADD COLUMN bytes bigint,
    ADD CONSTRAINT blob_place_check CHECK ((content IS NULL) = (store IS NOT NULL) AND (content IS NULL) = (bytes IS NOT NULL)),
    ADD CONSTRAINT blob_bytes_check CHECK (bytes >= 0);

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('blob_store', '"database"', NULL, NULL,
 'Where the bytes of new documents are kept: database, file:///path or s3://bucket/prefix.'),
('convert_page_seconds', '10', 0, 600, 'Seconds that a conversion gets on top for each page that is read from its picture.');

-- No user, password or query inside: whoever may read settings reads this one.
ALTER TABLE tq.setting ADD CONSTRAINT setting_blob_store_check CHECK (
    name <> 'blob_store'
    OR value #>> '{}' = 'database'
    OR value #>> '{}' ~ '^file:///[^?#]*[^?#/]$'
    OR value #>> '{}' ~ '^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*''()=-]+)*$');
