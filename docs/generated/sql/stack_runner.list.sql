-- stack_runner.list
-- $1 group_id, $2 param_1
SELECT locktender.stack_runner.id, locktender.stack_runner.name, locktender.stack_runner.status,
    locktender.stack_runner.run_id, locktender.stack_runner.last_seen_at, locktender.stack_runner.created_at,
    locktender.stack_run.status AS run_status
FROM locktender.stack_runner LEFT OUTER JOIN locktender.stack_run ON locktender.stack_run.id =
    locktender.stack_runner.run_id AND locktender.stack_run.assigned_runner_id = locktender.stack_runner.id
WHERE locktender.stack_runner.group_id = $1::UUID ORDER BY locktender.stack_runner.created_at,
    locktender.stack_runner.id
LIMIT $2::INTEGER;
