-- stack.lock_state
-- $1 lock, $2 run_id, $3 stack_id
UPDATE locktender.stack SET state_lock=$1::JSONB, state_lock_run_id=$2::UUID, state_locked_at=locktender.now() WHERE
    locktender.stack.id = $3::UUID AND locktender.stack.state_lock IS NULL RETURNING locktender.stack.id;
