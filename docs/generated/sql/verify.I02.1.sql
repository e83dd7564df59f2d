-- verify.I02
-- $1 window, $2 limit
WITH history AS
  (SELECT locktender.deployment_event.task_id AS task_id, locktender.deployment_event.revision AS revision,
      locktender.deployment_event.kind AS kind, locktender.deployment_event.status AS status,
      locktender.deployment_event.epoch AS epoch, locktender.deployment_event.actor AS actor,
      lag(locktender.deployment_event.revision) OVER (PARTITION BY locktender.deployment_event.task_id ORDER BY
      locktender.deployment_event.revision) AS last_revision, lag(locktender.deployment_event.status) OVER (PARTITION
      BY locktender.deployment_event.task_id ORDER BY locktender.deployment_event.revision) AS last_status,
      lag(locktender.deployment_event.epoch) OVER (PARTITION BY locktender.deployment_event.task_id ORDER BY
      locktender.deployment_event.revision) AS last_epoch
  FROM locktender.deployment_event JOIN locktender.deployment_task ON locktender.deployment_task.id =
      locktender.deployment_event.task_id
  WHERE locktender.deployment_task.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)))
SELECT CAST(history.task_id AS TEXT) AS subject, concat('revision ', history.revision, ', ', history.kind, ', epoch ',
    history.epoch) AS detail
FROM history
WHERE history.kind IN ('started', 'resumed') AND (EXISTS (SELECT *
  FROM locktender.deployment_event AS other
  WHERE other.task_id = history.task_id AND other.revision < history.revision AND other.epoch = history.epoch AND
      other.kind IN ('started', 'resumed'))) ORDER BY history.task_id, history.revision
LIMIT $2::BIGINT;
