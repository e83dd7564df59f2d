-- stack.busy
-- $1 id, $2 param_8
SELECT locktender.stack_deployment.number, locktender.stack_deployment.status
FROM locktender.stack_deployment
WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.status IN ('queued', 'pending',
    'planning', 'waiting', 'applying', 'requested_cancellation', 'cancelling') ORDER BY
    locktender.stack_deployment.created_at, locktender.stack_deployment.id
LIMIT $2::INTEGER;
