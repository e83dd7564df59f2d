-- stack_run.log
-- $1 end, $2 cut, $3 id, $4 token_hash, $5 start
UPDATE locktender.stack_run SET log_end=$1::BIGINT, log_cut=$2::BOOLEAN WHERE locktender.stack_run.id = $3::UUID AND
    locktender.stack_run.token_hash = $4::BYTEA AND locktender.stack_run.status IN ('running',
    'requested_cancellation', 'cancelling') AND locktender.stack_run.lease_expires_at > locktender.now() AND
    locktender.stack_run.log_end = $5::BIGINT RETURNING locktender.stack_run.log_end;
