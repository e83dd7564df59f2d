-- service_shard.take_turn
-- $1 service, $2 owner, $3 ttl
INSERT INTO locktender.service_shard (service, shard, owner, epoch, expires_at) VALUES ($1::VARCHAR, 0, $2::VARCHAR,
    1, (locktender.now() + ($3::FLOAT * make_interval(secs=>1.0)))) ON CONFLICT (service, shard) DO UPDATE SET owner =
    $2::VARCHAR, epoch = (locktender.service_shard.epoch + 1), expires_at = (locktender.now() + ($3::FLOAT *
    make_interval(secs=>1.0))) WHERE locktender.service_shard.owner IS NULL OR locktender.service_shard.owner =
    $2::VARCHAR OR locktender.service_shard.expires_at <= locktender.now() RETURNING locktender.service_shard.epoch;
