-- service_shard.renew
-- $1 ttl, $2 service, $3 owner
UPDATE locktender.service_shard SET expires_at=(locktender.now() + ($1::FLOAT * make_interval(secs=>1.0))) WHERE
    locktender.service_shard.service = $2::VARCHAR AND locktender.service_shard.owner = $3::VARCHAR AND
    locktender.service_shard.expires_at > locktender.now() RETURNING locktender.service_shard.shard,
    locktender.service_shard.epoch;
