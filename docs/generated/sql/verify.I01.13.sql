-- verify.I01
-- $1 window, $2 limit
WITH telling AS
  (SELECT locktender.outbox.aggregate AS aggregate, locktender.outbox.revision AS revision, locktender.outbox.type AS
      type, lag(locktender.outbox.revision) OVER (PARTITION BY locktender.outbox.aggregate ORDER BY
      locktender.outbox.revision) AS last_revision
  FROM locktender.outbox
  WHERE locktender.outbox.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
      locktender.outbox.revision IS NOT NULL AND locktender.outbox.type LIKE 'locktender.stack.%')
SELECT telling.aggregate AS subject, concat('between revisions ', telling.last_revision, ' and ', telling.revision) AS
    detail
FROM telling
WHERE telling.revision != telling.last_revision + 1 ORDER BY telling.aggregate, telling.revision
LIMIT $2::BIGINT;
