-- verify.I05
-- $1 limit
SELECT CAST(locktender.stack_deployment.id AS TEXT) AS subject, concat('it is ', locktender.stack_deployment.status)
    AS detail
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
WHERE locktender.stack_deployment.status IN ('queued', 'pending', 'planning', 'waiting', 'applying',
    'requested_cancellation', 'cancelling') AND locktender.stack_deployment.mode != 'plan_unlocked' AND
    locktender.stack_deployment.status != 'queued' AND locktender.stack.lane_holder IS DISTINCT FROM
    locktender.stack_deployment.id ORDER BY locktender.stack_deployment.created_at, locktender.stack_deployment.id
LIMIT $1::BIGINT;
