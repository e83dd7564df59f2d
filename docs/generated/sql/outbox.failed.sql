-- outbox.failed
-- $1 attempts_1, $2 make_interval_1, $3 make_interval_2, $4 make_interval_3, $5 make_interval_4, $6 make_interval_5,
-- $7 make_interval_6, $8 created_at, $9 seq, $10 error, $11 delay
UPDATE locktender.outbox SET attempts=(locktender.outbox.attempts + $1::INTEGER), next_attempt_at=(locktender.now() +
    make_interval($2::INTEGER, $3::INTEGER, $4::INTEGER, $5::INTEGER, $6::INTEGER, $7::INTEGER, failure.delay)),
    last_error=failure.error FROM unnest($8::TIMESTAMP WITH TIME ZONE[], $9::BIGINT[], $10::TEXT[], $11::FLOAT[]) AS
    failure(created_at, seq, error, delay) WHERE locktender.outbox.created_at = failure.created_at AND
    locktender.outbox.seq = failure.seq AND locktender.outbox.published_at IS NULL RETURNING locktender.outbox.seq;
