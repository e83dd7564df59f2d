-- stack.doubt
-- $1 revision_1, $2 run_id, $3 id
UPDATE locktender.stack SET revision=(locktender.stack.revision + $1::BIGINT), uncertain_since=locktender.now(),
    uncertain_run_id=$2::UUID WHERE locktender.stack.id = $3::UUID RETURNING locktender.stack.id;
