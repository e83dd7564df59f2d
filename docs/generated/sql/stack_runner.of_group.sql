-- stack_runner.of_group
-- $1 runner_id, $2 group_id
SELECT locktender.stack_runner.id, locktender.stack_runner.run_id
FROM locktender.stack_runner
WHERE locktender.stack_runner.id = $1::UUID AND locktender.stack_runner.group_id = $2::UUID;
