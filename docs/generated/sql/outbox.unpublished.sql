-- outbox.unpublished
-- $1 shards, $2 limit
SELECT locktender.outbox.created_at, locktender.outbox.seq, locktender.outbox.attempts, locktender.outbox.event_id,
    locktender.outbox.subject, locktender.outbox.type, locktender.outbox.aggregate, locktender.outbox.revision,
    locktender.outbox.tombstone, locktender.outbox.data, locktender.outbox.headers
FROM locktender.outbox
WHERE locktender.outbox.published_at IS NULL AND locktender.outbox.shard = any($1::SMALLINT[]) AND
    (locktender.outbox.aggregate NOT IN (SELECT DISTINCT locktender.outbox.aggregate
  FROM locktender.outbox
  WHERE locktender.outbox.published_at IS NULL AND locktender.outbox.next_attempt_at IS NOT NULL AND
      locktender.outbox.next_attempt_at > locktender.now())) ORDER BY locktender.outbox.seq
LIMIT $2::BIGINT;
