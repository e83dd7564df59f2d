-- stack_runner.working
-- $1 group_id, $2 param_5
SELECT locktender.stack_runner.id
FROM locktender.stack_runner
WHERE locktender.stack_runner.group_id = $1::UUID AND (EXISTS (SELECT *
  FROM locktender.stack_run
  WHERE locktender.stack_run.id = locktender.stack_runner.run_id AND locktender.stack_run.assigned_runner_id =
      locktender.stack_runner.id AND locktender.stack_run.status IN ('assigned', 'running', 'requested_cancellation',
      'cancelling')))
LIMIT $2::INTEGER;
