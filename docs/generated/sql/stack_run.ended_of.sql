-- stack_run.ended_of
-- $1 deployments
SELECT locktender.stack_run.id
FROM locktender.stack_run
WHERE locktender.stack_run.deployment_id = any($1::UUID[]) AND locktender.stack_run.status IN ('success', 'failure',
    'cancelled', 'timed_out', 'startup_timeout', 'discarded');
