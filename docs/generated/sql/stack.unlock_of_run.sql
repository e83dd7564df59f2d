-- stack.unlock_of_run
-- $1 id, $2 run_id
UPDATE locktender.stack SET state_lock=NULL, state_lock_run_id=NULL, state_locked_at=NULL WHERE locktender.stack.id =
    $1::UUID AND locktender.stack.state_lock_run_id = $2::UUID RETURNING locktender.stack.id;
