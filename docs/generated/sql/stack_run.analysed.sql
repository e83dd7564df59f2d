-- stack_run.analysed
-- $1 id, $2 token_hash
UPDATE locktender.stack_run SET analysed=true WHERE locktender.stack_run.id = $1::UUID AND
    locktender.stack_run.token_hash = $2::BYTEA AND locktender.stack_run.status IN ('running',
    'requested_cancellation', 'cancelling') AND locktender.stack_run.lease_expires_at > locktender.now() RETURNING
    locktender.stack_run.id;
