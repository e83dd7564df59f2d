-- outbox.retire_partitions
-- $1 retention
SELECT partition
FROM locktender.outbox_retire($1::FLOAT * make_interval(secs=>1.0)) AS partition;
