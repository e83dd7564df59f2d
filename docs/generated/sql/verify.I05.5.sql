-- verify.I05
-- $1 limit
SELECT CAST(locktender.stack_run.id AS TEXT) AS subject, concat(locktender.stack_run.status, ', since ',
    locktender.stack_run.created_at) AS detail
FROM locktender.stack_run
WHERE locktender.stack_run.status IN ('queued', 'pending', 'assigned', 'running', 'requested_cancellation',
    'cancelling') AND (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = locktender.stack_run.deployment_id AND locktender.stack_deployment.status IN
      ('finished', 'failed', 'cancelled', 'skipped'))) ORDER BY locktender.stack_run.created_at
LIMIT $1::BIGINT;
