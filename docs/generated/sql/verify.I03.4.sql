-- verify.I03
-- $1 window, $2 limit
SELECT CAST(locktender.stack_state.id AS TEXT) AS subject, concat('epoch ', locktender.stack_state.epoch) AS detail
FROM locktender.stack_state LEFT OUTER JOIN locktender.stack_run ON locktender.stack_run.id =
    locktender.stack_state.run_id
WHERE locktender.stack_state.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
    locktender.stack_state.run_id IS NOT NULL AND (locktender.stack_run.id IS NULL OR locktender.stack_state.epoch >
    locktender.stack_run.lease_epoch) ORDER BY locktender.stack_state.created_at
LIMIT $2::BIGINT;
