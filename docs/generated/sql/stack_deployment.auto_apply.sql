-- stack_deployment.auto_apply
-- $1 id, $2 message, $3 payload, $4 actor, $5 trace
WITH moved AS
  (UPDATE locktender.stack_deployment SET status='applying', revision=(locktender.stack_deployment.revision + 1),
      completed_at=NULL, updated_at=locktender.now() WHERE locktender.stack_deployment.id = $1::UUID AND
      locktender.stack_deployment.status IN ('planning') RETURNING locktender.stack_deployment.id,
      locktender.stack_deployment.workspace, locktender.stack_deployment.stack_id, locktender.stack_deployment.number,
      locktender.stack_deployment.mode, locktender.stack_deployment.status, locktender.stack_deployment.revision,
      locktender.stack_deployment.prioritized_at, locktender.stack_deployment.origin,
      locktender.stack_deployment.created_by, $2::VARCHAR AS message, CAST($3::JSONB AS JSONB) AS payload, $4::VARCHAR
      AS actor, CAST($5::JSONB AS JSONB) AS trace),
recorded AS
  (INSERT INTO locktender.stack_event (deployment_id, revision, kind, status, actor, message, payload) SELECT moved.id
      AS id, moved.revision AS revision, 'auto-applied' AS anon_1, moved.status AS status, moved.actor AS actor,
      moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.stacks.',
      CAST(moved.id AS TEXT), '.auto-applied') AS concat_1, 'locktender.stack_deployment.auto-applied' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'stackId',
      moved.stack_id, 'number', moved.number, 'mode', moved.mode, 'status', moved.status, 'revision', moved.revision,
      'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1, moved.trace AS
      trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.stack_id, moved.number, moved.mode, moved.status, moved.revision,
    moved.prioritized_at, moved.origin, moved.created_by
FROM moved;
