-- stack_runner_group.load
-- $1 workspace
SELECT 'default' AS name, CAST('[]' AS JSONB) AS labels, CAST(NULL AS INTEGER) AS capacity, (SELECT count(*) AS
    count_1
  FROM locktender.stack_run
  WHERE locktender.stack_run.status IN ('running', 'requested_cancellation', 'cancelling') AND
      locktender.stack_run.workspace = $1::VARCHAR AND locktender.stack_run.runner_group = 'default') AS running UNION
      ALL SELECT locktender.stack_runner_group.name, locktender.stack_runner_group.labels,
      locktender.stack_runner_group.capacity, (SELECT count(*) AS count_1
  FROM locktender.stack_run
  WHERE locktender.stack_run.status IN ('running', 'requested_cancellation', 'cancelling') AND
      locktender.stack_run.workspace = $1::VARCHAR AND locktender.stack_run.runner_group =
      locktender.stack_runner_group.name) AS running
FROM locktender.stack_runner_group
WHERE locktender.stack_runner_group.workspace = $1::VARCHAR ORDER BY 1;
