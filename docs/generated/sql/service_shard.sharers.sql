-- service_shard.sharers
-- $1 service, $2 owner
SELECT count(DISTINCT locktender.service_shard.owner) AS owners
FROM locktender.service_shard
WHERE locktender.service_shard.service = $1::VARCHAR AND locktender.service_shard.expires_at > locktender.now() AND
    locktender.service_shard.owner != $2::VARCHAR;
