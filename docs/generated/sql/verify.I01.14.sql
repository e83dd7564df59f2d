-- verify.I01
-- $1 window, $2 limit
SELECT CAST(locktender.stack.id AS TEXT) AS subject, concat('revision ', locktender.stack.revision) AS detail
FROM locktender.stack
WHERE locktender.stack.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
    locktender.stack.revision > 1 AND NOT (EXISTS (SELECT *
  FROM locktender.outbox
  WHERE locktender.outbox.aggregate = CAST(locktender.stack.id AS TEXT) AND locktender.outbox.revision =
      locktender.stack.revision)) ORDER BY locktender.stack.id
LIMIT $2::BIGINT;
