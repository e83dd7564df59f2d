-- stack_run.log
-- $1 end, $2 id, $3 token_hash, $4 start
UPDATE locktender.stack_run SET log_end=$1::BIGINT WHERE locktender.stack_run.id = $2::UUID AND
    locktender.stack_run.token_hash = $3::BYTEA AND locktender.stack_run.status IN ('running',
    'requested_cancellation', 'cancelling') AND locktender.stack_run.lease_expires_at > locktender.now() AND
    locktender.stack_run.log_end = $4::BIGINT RETURNING locktender.stack_run.log_end;
