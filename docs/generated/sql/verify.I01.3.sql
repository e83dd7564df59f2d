-- verify.I01
-- $1 window, $2 limit
SELECT CAST(locktender.deployment_task.id AS TEXT) AS subject, concat('it is ', locktender.deployment_task.status) AS
    detail
FROM locktender.deployment_task LEFT OUTER JOIN locktender.deployment_event ON locktender.deployment_event.task_id =
    locktender.deployment_task.id AND locktender.deployment_event.revision = locktender.deployment_task.revision
WHERE locktender.deployment_task.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND (EXISTS
    (SELECT *
  FROM locktender.deployment_event
  WHERE locktender.deployment_event.task_id = locktender.deployment_task.id AND locktender.deployment_event.revision >
      locktender.deployment_task.revision)) ORDER BY locktender.deployment_task.id
LIMIT $2::BIGINT;
