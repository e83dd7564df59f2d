-- verify.I01
-- $1 window, $2 limit
SELECT earlier.aggregate AS subject, concat('revision ', earlier.revision, ' after ', later.revision) AS detail
FROM locktender.outbox AS earlier, locktender.outbox AS later
WHERE later.aggregate = earlier.aggregate AND later.seq > earlier.seq AND later.published_at IS NOT NULL AND
    earlier.created_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND later.created_at >=
    locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND earlier.revision IS NOT NULL AND earlier.attempts =
    0 AND (earlier.published_at IS NULL OR earlier.published_at > later.published_at) ORDER BY earlier.seq
LIMIT $2::BIGINT;
