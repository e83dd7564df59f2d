-- verify.I04
-- $1 window, $2 limit
WITH history AS
  (SELECT locktender.stack_event.deployment_id AS deployment_id, locktender.stack_event.revision AS revision,
      locktender.stack_event.kind AS kind, lag(locktender.stack_event.revision) OVER (PARTITION BY
      locktender.stack_event.deployment_id ORDER BY locktender.stack_event.revision) AS last_revision,
      lag(locktender.stack_event.status) OVER (PARTITION BY locktender.stack_event.deployment_id ORDER BY
      locktender.stack_event.revision) AS last_status
  FROM locktender.stack_event JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
      locktender.stack_event.deployment_id
  WHERE locktender.stack_deployment.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)))
SELECT CAST(history.deployment_id AS TEXT) AS subject, concat('revision ', history.revision, ', ', history.kind) AS
    detail
FROM history
WHERE history.last_status IN ('finished', 'failed', 'cancelled', 'skipped') ORDER BY history.deployment_id,
    history.revision
LIMIT $2::BIGINT;
