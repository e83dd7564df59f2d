-- stack.trust
-- $1 revision_1, $2 id
UPDATE locktender.stack SET revision=(locktender.stack.revision + $1::BIGINT), uncertain_since=NULL,
    uncertain_run_id=NULL WHERE locktender.stack.id = $2::UUID AND locktender.stack.uncertain_since IS NOT NULL
    RETURNING locktender.stack.id;
