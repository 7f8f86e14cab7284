-- A limit of time for the ingest of one document.

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('document_seconds', '-1', -1, 1000000000,
 'Seconds since ingest of a document began in which a model is called for it, extracts after; -1 for no limit.');
