-- verify.I01
-- $1 window, $2 limit
SELECT CAST(locktender.stack_event.deployment_id AS TEXT) AS subject, concat('revision ',
    locktender.stack_event.revision, ', ', locktender.stack_event.kind) AS detail
FROM locktender.stack_event
WHERE locktender.stack_event.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND NOT (EXISTS
    (SELECT *
  FROM locktender.outbox
  WHERE locktender.outbox.aggregate = CAST(locktender.stack_event.deployment_id AS TEXT) AND
      locktender.outbox.revision = locktender.stack_event.revision AND locktender.outbox.created_at >=
      locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)))) ORDER BY locktender.stack_event.deployment_id,
      locktender.stack_event.revision
LIMIT $2::BIGINT;
