-- service_shard.release
-- $1 service, $2 owner, $3 shards
UPDATE locktender.service_shard SET owner=NULL, expires_at=NULL WHERE locktender.service_shard.service = $1::VARCHAR
    AND locktender.service_shard.owner = $2::VARCHAR AND locktender.service_shard.shard = any($3::SMALLINT[])
    RETURNING locktender.service_shard.shard;
