-- stack_deployment.create
-- $1 id, $2 workspace, $3 stack_id, $4 number, $5 mode, $6 origin, $7 source, $8 commit_sha, $9 commit, $10
-- raw_script, $11 created_by, $12 note, $13 idempotency_key, $14 request_digest, $15 message, $16 payload, $17 actor,
-- $18 trace
WITH made AS
  (INSERT INTO locktender.stack_deployment (id, workspace, stack_id, number, mode, origin, source, commit_sha, commit,
      raw_script, created_by, note, idempotency_key, request_digest) VALUES ($1::UUID, $2::VARCHAR, $3::UUID,
      $4::BIGINT, $5::VARCHAR, $6::VARCHAR, $7::JSONB, $8::VARCHAR, $9::JSONB, $10::BYTEA, $11::VARCHAR, $12::VARCHAR,
      $13::VARCHAR, $14::BYTEA) RETURNING locktender.stack_deployment.id, locktender.stack_deployment.workspace,
      locktender.stack_deployment.stack_id, locktender.stack_deployment.number, locktender.stack_deployment.mode,
      locktender.stack_deployment.status, locktender.stack_deployment.origin, locktender.stack_deployment.source,
      locktender.stack_deployment.commit_sha, locktender.stack_deployment.commit,
      locktender.stack_deployment.raw_script, locktender.stack_deployment.created_by,
      locktender.stack_deployment.note, locktender.stack_deployment.prioritized_at,
      locktender.stack_deployment.prioritized_by, locktender.stack_deployment.skipped_reason,
      locktender.stack_deployment.failure, locktender.stack_deployment.cancel_requested_at,
      locktender.stack_deployment.cancel_requested_by, locktender.stack_deployment.waiting_since,
      locktender.stack_deployment.revision, locktender.stack_deployment.idempotency_key,
      locktender.stack_deployment.request_digest, locktender.stack_deployment.started_at,
      locktender.stack_deployment.completed_at, locktender.stack_deployment.created_at,
      locktender.stack_deployment.updated_at, $15::VARCHAR AS message, CAST($16::JSONB AS JSONB) AS payload,
      $17::VARCHAR AS actor, CAST($18::JSONB AS JSONB) AS trace),
recorded AS
  (INSERT INTO locktender.stack_event (deployment_id, revision, kind, status, actor, message, payload) SELECT made.id
      AS id, made.revision AS revision, 'created' AS anon_1, made.status AS status, made.actor AS actor, made.message
      AS message, made.payload AS payload
  FROM made),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(made.id AS TEXT) AS id, abs(mod(hashtext(CAST(made.id AS TEXT)), 16)) AS abs_1, made.revision AS revision,
      CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(made.workspace AS TEXT), '.stacks.', CAST(made.id AS
      TEXT), '.created') AS concat_1, 'locktender.stack_deployment.created' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', made.id, 'workspace', made.workspace, 'stackId', made.stack_id,
      'number', made.number, 'mode', made.mode, 'status', made.status, 'revision', made.revision, 'reason',
      made.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1, made.trace AS trace
  FROM made)
SELECT made.id, made.workspace, made.stack_id, made.number, made.mode, made.status, made.origin, made.source,
    made.commit_sha, made.commit, made.raw_script, made.created_by, made.note, made.prioritized_at,
    made.prioritized_by, made.skipped_reason, made.failure, made.cancel_requested_at, made.cancel_requested_by,
    made.waiting_since, made.revision, made.idempotency_key, made.request_digest, made.started_at, made.completed_at,
    made.created_at, made.updated_at
FROM made;
