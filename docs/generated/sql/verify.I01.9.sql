-- verify.I01
-- $1 window, $2 limit
SELECT CAST(locktender.stack_deployment.id AS TEXT) AS subject, concat('it is ', locktender.stack_deployment.status)
    AS detail
FROM locktender.stack_deployment LEFT OUTER JOIN locktender.stack_event ON locktender.stack_event.deployment_id =
    locktender.stack_deployment.id AND locktender.stack_event.revision = locktender.stack_deployment.revision
WHERE locktender.stack_deployment.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
    (locktender.stack_event.revision IS NULL OR locktender.stack_event.status != locktender.stack_deployment.status)
    ORDER BY locktender.stack_deployment.id
LIMIT $2::BIGINT;
