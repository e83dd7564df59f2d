-- verify.I01
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
SELECT CAST(history.task_id AS TEXT) AS subject, concat('revision ', history.revision, ', ', history.kind) AS detail
FROM history
WHERE history.last_revision IS NULL AND (history.revision != 1 OR history.kind != 'created') OR history.revision !=
    history.last_revision + 1 ORDER BY history.task_id, history.revision
LIMIT $2::BIGINT;
