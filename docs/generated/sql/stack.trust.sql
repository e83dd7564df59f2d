-- stack.trust
-- $1 revision_1, $2 id, $3 trace
WITH moved AS
  (UPDATE locktender.stack SET revision=(locktender.stack.revision + $1::BIGINT), uncertain_since=NULL,
      uncertain_run_id=NULL, updated_at=locktender.now() WHERE locktender.stack.id = $2::UUID AND
      locktender.stack.deleted_at IS NULL AND locktender.stack.uncertain_since IS NOT NULL RETURNING
      locktender.stack.id, locktender.stack.workspace, locktender.stack.project, locktender.stack.name,
      locktender.stack.description, locktender.stack.source, locktender.stack.engine, locktender.stack.runner_group,
      locktender.stack.labels, locktender.stack.auto_approve, locktender.stack.confirmation_timeout_seconds,
      locktender.stack.queued_timeout_seconds, locktender.stack.supersede_after_seconds, locktender.stack.git_token,
      locktender.stack.revision, locktender.stack.last_number, locktender.stack.lane_holder,
      locktender.stack.lane_taken_at, locktender.stack.uncertain_since, locktender.stack.uncertain_run_id,
      locktender.stack.state_version_id, locktender.stack.state_lineage, locktender.stack.state_serial,
      locktender.stack.state_lock, locktender.stack.state_lock_run_id, locktender.stack.state_locked_at,
      locktender.stack.latest_deployment_id, locktender.stack.latest_deployment_number,
      locktender.stack.latest_deployment_mode, locktender.stack.latest_deployment_status,
      locktender.stack.latest_deployment_created_at, locktender.stack.latest_deployment_completed_at,
      locktender.stack.created_by, locktender.stack.created_at, locktender.stack.updated_at,
      locktender.stack.deleted_at, 'live' AS status, CAST('{}' AS JSONB) AS payload, CAST($3::JSONB AS JSONB) AS
      trace),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_1, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.stacks.',
      CAST(moved.id AS TEXT), '.stack-certain') AS concat_1, 'locktender.stack.stack-certain' AS anon_2,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'name', moved.name, 'status', moved.status, 'revision', moved.revision, 'reason', moved.payload
      ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1, moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.name, moved.description, moved.source, moved.engine,
    moved.runner_group, moved.labels, moved.auto_approve, moved.confirmation_timeout_seconds,
    moved.queued_timeout_seconds, moved.supersede_after_seconds, moved.git_token, moved.revision, moved.last_number,
    moved.lane_holder, moved.lane_taken_at, moved.uncertain_since, moved.uncertain_run_id, moved.state_version_id,
    moved.state_lineage, moved.state_serial, moved.state_lock, moved.state_lock_run_id, moved.state_locked_at,
    moved.latest_deployment_id, moved.latest_deployment_number, moved.latest_deployment_mode,
    moved.latest_deployment_status, moved.latest_deployment_created_at, moved.latest_deployment_completed_at,
    moved.created_by, moved.created_at, moved.updated_at, moved.deleted_at
FROM moved;
