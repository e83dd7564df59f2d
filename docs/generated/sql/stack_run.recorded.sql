-- stack_run.recorded
-- $1 age, $2 param_11, $3 param_19, $4 after_at, $5 after_id, $6 limit
WITH looked_at AS
  (SELECT locktender.stack_run.id AS id, locktender.stack_run.workspace AS workspace, locktender.stack_run.stack_id AS
      stack_id, locktender.stack_run.deployment_id AS deployment_id, locktender.stack_run.analysed AS analysed,
      locktender.stack_run.created_at AS created_at
  FROM locktender.stack_run
  WHERE locktender.stack_run.artifacts_removed_at IS NULL AND locktender.stack_run.created_at <= locktender.now() -
      ($1::FLOAT * make_interval(secs=>1.0)) AND locktender.stack_run.status IN ('success', 'failure', 'cancelled',
      'timed_out', 'startup_timeout', 'discarded') AND (locktender.stack_run.created_at, locktender.stack_run.id) >
      ($4::TIMESTAMP WITH TIME ZONE, $5::UUID) ORDER BY locktender.stack_run.created_at, locktender.stack_run.id
  LIMIT $6::BIGINT)
SELECT looked_at.id, looked_at.workspace, looked_at.stack_id, looked_at.created_at, (SELECT
    locktender.stack_deployment.status IN ('finished', 'failed', 'cancelled', 'skipped') AND
    locktender.stack_deployment.completed_at <= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AS anon_1
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = looked_at.deployment_id) AND NOT CASE WHEN (looked_at.analysed AND (SELECT
      NOT (locktender.stack.deleted_at IS NOT NULL AND locktender.stack.deleted_at <= locktender.now() - ($1::FLOAT *
      make_interval(secs=>1.0))) AS anon_2
  FROM locktender.stack
  WHERE locktender.stack.id = looked_at.stack_id)) THEN looked_at.id IN (SELECT locktender.stack_run.id
  FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
      locktender.stack_run.deployment_id
  WHERE locktender.stack_run.stack_id = looked_at.stack_id AND locktender.stack_run.analysed AND
      locktender.stack_run.completed_at IS NOT NULL AND locktender.stack_deployment.mode IN ('plan', 'destroy',
      'refresh') AND (locktender.stack_run.status = 'success' OR locktender.stack_run.mode = 'apply') ORDER BY
      locktender.stack_run.completed_at DESC
  LIMIT $2::INTEGER) OR looked_at.id IN (SELECT locktender.stack_run.id
  FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
      locktender.stack_run.deployment_id
  WHERE locktender.stack_run.stack_id = looked_at.stack_id AND locktender.stack_run.analysed AND
      locktender.stack_run.completed_at IS NOT NULL AND locktender.stack_deployment.mode IN ('plan', 'destroy',
      'refresh') AND locktender.stack_run.status = 'success' AND locktender.stack_deployment.origin IN ('manual',
      'retry', 'scm', 'dependency') ORDER BY locktender.stack_run.completed_at DESC
  LIMIT $3::INTEGER) ELSE false END AS due
FROM looked_at ORDER BY looked_at.created_at, looked_at.id;
