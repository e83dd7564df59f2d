-- stack.unlock_state
-- $1 stack_id
UPDATE locktender.stack SET state_lock=NULL, state_lock_run_id=NULL, state_locked_at=NULL WHERE locktender.stack.id =
    $1::UUID RETURNING locktender.stack.id;
