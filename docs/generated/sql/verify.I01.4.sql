-- verify.I01
-- $1 publish, $2 limit
SELECT locktender.outbox.aggregate AS subject, concat('seq ', locktender.outbox.seq, ', ', locktender.outbox.type) AS
    detail
FROM locktender.outbox
WHERE locktender.outbox.published_at IS NULL AND locktender.outbox.last_error IS NULL AND locktender.outbox.created_at
    <= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.outbox.seq
LIMIT $2::BIGINT;
