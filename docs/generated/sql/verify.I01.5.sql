-- verify.I01
-- $1 window, $2 limit
SELECT CAST(locktender.deployment_event.task_id AS TEXT) AS subject, concat('revision ',
    locktender.deployment_event.revision, ', ', locktender.deployment_event.kind) AS detail
FROM locktender.deployment_event
WHERE locktender.deployment_event.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND NOT
    (EXISTS (SELECT *
  FROM locktender.outbox
  WHERE locktender.outbox.aggregate = CAST(locktender.deployment_event.task_id AS TEXT) AND locktender.outbox.revision
      = locktender.deployment_event.revision AND locktender.outbox.created_at >= locktender.now() - ($1::FLOAT *
      make_interval(secs=>1.0)))) ORDER BY locktender.deployment_event.task_id, locktender.deployment_event.revision
LIMIT $2::BIGINT;
