-- stack_run.first
-- $1 id, $2 param_1
SELECT locktender.stack_run.targets, locktender.stack_run.excludes, locktender.stack_run.replaces
FROM locktender.stack_run
WHERE locktender.stack_run.deployment_id = $1::UUID ORDER BY locktender.stack_run.created_at, locktender.stack_run.id
LIMIT $2::INTEGER;
