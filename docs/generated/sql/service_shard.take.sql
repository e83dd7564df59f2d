-- service_shard.take
-- $1 owner, $2 epoch_1, $3 ttl, $4 service, $5 wanted
WITH free AS
  (SELECT locktender.service_shard.service AS service, locktender.service_shard.shard AS shard
  FROM locktender.service_shard
  WHERE locktender.service_shard.service = $4::VARCHAR AND (locktender.service_shard.owner IS NULL OR
      locktender.service_shard.expires_at <= locktender.now()) ORDER BY locktender.service_shard.shard
  LIMIT $5::BIGINT FOR UPDATE SKIP LOCKED)
UPDATE locktender.service_shard SET owner=$1::VARCHAR, epoch=(locktender.service_shard.epoch + $2::BIGINT),
    expires_at=(locktender.now() + ($3::FLOAT * make_interval(secs=>1.0))) FROM free WHERE
    locktender.service_shard.service = free.service AND locktender.service_shard.shard = free.shard RETURNING
    locktender.service_shard.shard, locktender.service_shard.epoch;
