-- outbox.prepare_partitions
-- $1 days
SELECT partition
FROM locktender.outbox_prepare($1::INTEGER) AS partition;
