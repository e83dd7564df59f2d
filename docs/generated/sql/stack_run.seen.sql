-- stack_run.seen
-- $1 run_id, $2 epoch
WITH renewed AS
  (UPDATE locktender.stack_run SET lease_expires_at=(locktender.now() + (locktender.stack_run.lease_seconds *
      make_interval(secs=>1.0))) WHERE locktender.stack_run.id = $1::UUID AND locktender.stack_run.lease_epoch =
      $2::BIGINT AND locktender.stack_run.remote AND locktender.stack_run.status IN ('running',
      'requested_cancellation', 'cancelling') RETURNING locktender.stack_run.status,
      locktender.stack_run.assigned_runner_id),
noted AS
  (UPDATE locktender.stack_runner SET last_seen_at=locktender.now() FROM renewed WHERE locktender.stack_runner.id =
      renewed.assigned_runner_id)
SELECT renewed.status
FROM renewed;
