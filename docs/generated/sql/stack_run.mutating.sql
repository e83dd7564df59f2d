-- stack_run.mutating
-- $1 stack_id, $2 param_8
SELECT locktender.stack_run.id
FROM locktender.stack_run
WHERE locktender.stack_run.stack_id = $1::UUID AND locktender.stack_run.status IN ('pending', 'assigned', 'running',
    'requested_cancellation', 'cancelling') AND locktender.stack_run.mode IN ('apply', 'raw')
LIMIT $2::INTEGER;
