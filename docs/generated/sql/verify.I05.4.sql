-- verify.I05
-- $1 limit
SELECT CAST(locktender.stack_deployment.id AS TEXT) AS subject, concat('it is ', locktender.stack_deployment.status)
    AS detail
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
WHERE locktender.stack_deployment.status IN ('queued', 'pending', 'planning', 'waiting', 'applying',
    'requested_cancellation', 'cancelling') AND NOT coalesce(locktender.stack_deployment.status = 'waiting' AND
    (SELECT locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IS NULL AND (EXISTS
      (SELECT *
  FROM locktender.stack_stage
  WHERE locktender.stack_stage.deployment_id = locktender.stack_deployment.id AND locktender.stack_stage.status IN
      ('waiting', 'running', 'requested_cancellation', 'cancelling'))) OR locktender.stack_deployment.status =
      'queued' AND (SELECT locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN ('queued') OR
      locktender.stack_deployment.status = 'pending' AND (SELECT locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN ('pending', 'assigned')
      OR locktender.stack_deployment.status = 'planning' AND (SELECT locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN ('running') OR
      locktender.stack_deployment.status = 'applying' AND (SELECT locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN ('pending', 'assigned',
      'running') OR locktender.stack_deployment.status = 'requested_cancellation' AND (SELECT
      locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN
      ('requested_cancellation') OR locktender.stack_deployment.status = 'cancelling' AND (SELECT
      locktender.stack_run.status
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND locktender.stack_run.status IN
      ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling')) IN ('cancelling'), false)
      ORDER BY locktender.stack_deployment.created_at, locktender.stack_deployment.id
LIMIT $1::BIGINT;
