-- verify.I04
-- $1 limit
SELECT CAST(locktender.stack_deployment.id AS TEXT) AS subject, concat('it is ', locktender.stack_deployment.status)
    AS detail
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
WHERE locktender.stack_deployment.status IN ('queued', 'pending', 'planning', 'waiting', 'applying',
    'requested_cancellation', 'cancelling') AND (EXISTS (SELECT *
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id AND (locktender.stack_run.plan_removed_at
      IS NOT NULL OR locktender.stack_run.artifacts_removed_at IS NOT NULL))) ORDER BY
      locktender.stack_deployment.created_at, locktender.stack_deployment.id
LIMIT $1::BIGINT;
