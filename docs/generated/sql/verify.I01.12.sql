-- verify.I01
-- $1 window, $2 limit
SELECT locktender.outbox.aggregate AS subject, concat('revision ', locktender.outbox.revision) AS detail
FROM locktender.outbox
WHERE locktender.outbox.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
    locktender.outbox.revision IS NOT NULL AND (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE CAST(locktender.stack_deployment.id AS TEXT) = locktender.outbox.aggregate)) AND NOT (EXISTS (SELECT *
  FROM locktender.stack_event
  WHERE CAST(locktender.stack_event.deployment_id AS TEXT) = locktender.outbox.aggregate AND
      locktender.stack_event.revision = locktender.outbox.revision)) ORDER BY locktender.outbox.seq
LIMIT $2::BIGINT;
