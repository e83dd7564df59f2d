-- service_shard.prepare
-- $1 service
INSERT INTO locktender.service_shard (service, shard) SELECT $1::VARCHAR AS anon_1, CAST(generate_series(0, 15) AS
    SMALLINT) AS generate_series_1 ON CONFLICT DO NOTHING;
