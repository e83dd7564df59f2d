-- outbox.redrive
-- $1 attempts_1, $2 window, $3 before, $4 limit
WITH told AS
  (SELECT locktender.outbox.created_at AS created_at, locktender.outbox.seq AS seq
  FROM locktender.outbox
  WHERE locktender.outbox.created_at >= locktender.now() - ($2::FLOAT * make_interval(secs=>1.0)) AND
      locktender.outbox.created_at <= $3::TIMESTAMP WITH TIME ZONE AND locktender.outbox.revision IS NOT NULL AND
      locktender.outbox.published_at <= $3::TIMESTAMP WITH TIME ZONE ORDER BY locktender.outbox.created_at,
      locktender.outbox.seq
  LIMIT $4::BIGINT)
UPDATE locktender.outbox SET published_at=NULL, attempts=(locktender.outbox.attempts + $1::INTEGER),
    next_attempt_at=NULL, last_error='redriven' FROM told WHERE locktender.outbox.created_at = told.created_at AND
    locktender.outbox.seq = told.seq RETURNING locktender.outbox.seq;
