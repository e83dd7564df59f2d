-- stack_runner.ready
-- $1 status, $2 runner_id
UPDATE locktender.stack_runner SET status=$1::VARCHAR, last_seen_at=locktender.now() WHERE locktender.stack_runner.id
    = $2::UUID;
