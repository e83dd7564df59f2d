-- deployment_task.create
-- $1 id, $2 workspace, $3 project, $4 namespace, $5 server, $6 display_name, $7 created_by, $8 created_from, $9
-- runner, $10 source, $11 timeline, $12 custodian, $13 predecessor_id, $14 idempotency_key, $15 request_digest, $16
-- message, $17 payload, $18 actor, $19 trace, $20 inherit
WITH predecessor AS
  (SELECT before.id AS id, before.workspace AS workspace, before.identity AS identity
  FROM locktender.deployment_task AS before
  WHERE before.id = any($13::UUID[]) AND before.status IN ('failed', 'cancelled') ORDER BY before.id FOR SHARE),
made AS
  (INSERT INTO locktender.deployment_task (id, workspace, project, namespace, server, display_name, created_by,
      created_from, runner, source, timeline, custodian, predecessor_id, idempotency_key, request_digest, status,
      phase, hinted_at, identity) SELECT input.id AS id, input.workspace AS workspace, input.project AS project,
      input.namespace AS namespace, input.server AS server, input.display_name AS display_name, input.created_by AS
      created_by, input.created_from AS created_from, input.runner AS runner, input.source AS source, input.timeline
      AS timeline, input.custodian AS custodian, input.predecessor_id AS predecessor_id, input.idempotency_key AS
      idempotency_key, input.request_digest AS request_digest, 'queued' AS anon_2, 'queued' AS anon_3,
      locktender.now() AS now_1, CASE WHEN input.inherit THEN predecessor.identity END AS anon_4
  FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[], $8::TEXT[],
      $9::TEXT[], $10::JSONB[], $11::JSONB[], $12::TEXT[], $13::UUID[], $14::TEXT[], $15::BYTEA[], $16::TEXT[],
      $17::JSONB[], $18::TEXT[], $19::JSONB[], $20::BOOLEAN[]) AS input(id, workspace, project, namespace, server,
      display_name, created_by, created_from, runner, source, timeline, custodian, predecessor_id, idempotency_key,
      request_digest, message, payload, actor, trace, inherit) LEFT OUTER JOIN predecessor ON predecessor.id =
      input.predecessor_id AND predecessor.workspace = input.workspace
  WHERE input.predecessor_id IS NULL OR predecessor.id IS NOT NULL ORDER BY input.id ON CONFLICT (workspace,
      created_by, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING
      locktender.deployment_task.id, locktender.deployment_task.workspace, locktender.deployment_task.project,
      locktender.deployment_task.phase, locktender.deployment_task.status, locktender.deployment_task.lease_epoch,
      locktender.deployment_task.revision, locktender.deployment_task.runner, locktender.deployment_task.created_at),
moved AS
  (SELECT made.id AS id, made.workspace AS workspace, made.project AS project, made.phase AS phase, made.status AS
      status, made.lease_epoch AS lease_epoch, made.revision AS revision, made.runner AS runner, made.created_at AS
      created_at, input.message AS message, input.payload AS payload, input.actor AS actor, input.trace AS trace
  FROM made JOIN unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[],
      $8::TEXT[], $9::TEXT[], $10::JSONB[], $11::JSONB[], $12::TEXT[], $13::UUID[], $14::TEXT[], $15::BYTEA[],
      $16::TEXT[], $17::JSONB[], $18::TEXT[], $19::JSONB[], $20::BOOLEAN[]) AS input(id, workspace, project,
      namespace, server, display_name, created_by, created_from, runner, source, timeline, custodian, predecessor_id,
      idempotency_key, request_digest, message, payload, actor, trace, inherit) ON made.id = input.id),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'created' AS anon_1, moved.status AS status, moved.lease_epoch AS
      lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_5, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.created') AS concat_1, 'locktender.deployment_task.created' AS anon_6,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved UNION ALL SELECT concat('hint/', moved.id) AS concat_2, abs(mod(hashtext(concat('hint/', moved.id)), 16))
      AS abs_2, CAST(NULL AS BIGINT) AS anon_7, CAST('false' AS BOOLEAN) AS anon_8, 'lt.cmd.deployment.' ||
      moved.runner AS anon_9, 'locktender.command.created' AS anon_10, CAST(jsonb_build_object('id', moved.id) AS
      JSONB) AS jsonb_build_object_1, CAST('{}' AS JSONB) AS anon_11
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision,
    moved.runner, moved.created_at, moved.message, moved.payload, moved.actor, moved.trace
FROM moved;
