-- outbox.published
-- $1 created_at, $2 seq
UPDATE locktender.outbox SET published_at=locktender.now(), next_attempt_at=NULL, last_error=NULL FROM
    unnest($1::TIMESTAMP WITH TIME ZONE[], $2::BIGINT[]) AS key(created_at, seq) WHERE locktender.outbox.created_at =
    key.created_at AND locktender.outbox.seq = key.seq AND locktender.outbox.published_at IS NULL RETURNING
    locktender.outbox.seq;
