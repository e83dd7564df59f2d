-- service_shard.give_turn
-- $1 service, $2 owner
UPDATE locktender.service_shard SET owner=NULL, expires_at=NULL WHERE locktender.service_shard.service = $1::VARCHAR
    AND locktender.service_shard.shard = 0 AND locktender.service_shard.owner = $2::VARCHAR RETURNING
    locktender.service_shard.epoch;
