-- stack_runner.forget
-- $1 patience, $2 limit
DELETE FROM locktender.stack_runner WHERE locktender.stack_runner.id IN (SELECT locktender.stack_runner.id
  FROM locktender.stack_runner
  WHERE locktender.stack_runner.last_seen_at <= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND NOT
      (EXISTS (SELECT *
  FROM locktender.stack_run
  WHERE locktender.stack_run.id = locktender.stack_runner.run_id AND locktender.stack_run.assigned_runner_id =
      locktender.stack_runner.id AND locktender.stack_run.status IN ('assigned', 'running', 'requested_cancellation',
      'cancelling'))) ORDER BY locktender.stack_runner.last_seen_at
  LIMIT $2::BIGINT FOR UPDATE SKIP LOCKED) RETURNING locktender.stack_runner.id;
