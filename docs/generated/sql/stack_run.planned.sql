-- stack_run.planned
-- $1 after_at, $2 after_id, $3 limit
WITH looked_at AS
  (SELECT locktender.stack_run.id AS id, locktender.stack_run.workspace AS workspace, locktender.stack_run.stack_id AS
      stack_id, locktender.stack_run.deployment_id AS deployment_id, locktender.stack_run.analysed AS analysed,
      locktender.stack_run.created_at AS created_at
  FROM locktender.stack_run
  WHERE locktender.stack_run.plan_removed_at IS NULL AND locktender.stack_run.mode IN ('plan', 'destroy', 'refresh')
      AND locktender.stack_run.status IN ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout',
      'discarded') AND (locktender.stack_run.created_at, locktender.stack_run.id) > ($1::TIMESTAMP WITH TIME ZONE,
      $2::UUID) ORDER BY locktender.stack_run.created_at, locktender.stack_run.id
  LIMIT $3::BIGINT)
SELECT looked_at.id, looked_at.workspace, looked_at.stack_id, looked_at.created_at, (SELECT
    locktender.stack_deployment.status IN ('finished', 'failed', 'cancelled', 'skipped') AS anon_1
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = looked_at.deployment_id) AS due
FROM looked_at ORDER BY looked_at.created_at, looked_at.id;
