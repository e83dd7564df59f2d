-- stack.list_never_active_in_status
-- $1 workspace, $2 status, $3 project, $4 pattern, $5 limit, $6 param_1
SELECT locktender.stack.id, locktender.stack.workspace, locktender.stack.project, locktender.stack.name,
    locktender.stack.description, locktender.stack.source, locktender.stack.engine, locktender.stack.runner_group,
    locktender.stack.labels, locktender.stack.auto_approve, locktender.stack.confirmation_timeout_seconds,
    locktender.stack.queued_timeout_seconds, locktender.stack.supersede_after_seconds, locktender.stack.revision,
    locktender.stack.last_number, locktender.stack.lane_holder, locktender.stack.lane_taken_at,
    locktender.stack.uncertain_since, locktender.stack.uncertain_run_id, locktender.stack.state_version_id,
    locktender.stack.state_lineage, locktender.stack.state_serial, locktender.stack.state_lock,
    locktender.stack.state_lock_run_id, locktender.stack.state_locked_at, locktender.stack.latest_deployment_id,
    locktender.stack.latest_deployment_number, locktender.stack.latest_deployment_mode,
    locktender.stack.latest_deployment_status, locktender.stack.latest_deployment_created_at,
    locktender.stack.latest_deployment_completed_at, locktender.stack.created_by, locktender.stack.created_at,
    locktender.stack.updated_at, locktender.stack.git_token IS NOT NULL AS has_git_token, holder.id AS holder_id,
    holder.number AS holder_number, holder.mode AS holder_mode, holder.status AS holder_status, holder.created_at AS
    holder_created_at, holder.waiting_since AS holder_waiting_since, holder.cancel_requested_at AS
    holder_cancel_requested_at, holder_run_newest.id AS holder_run_id, holder_run_newest.status AS holder_run_status,
    holder_run_newest.mode AS holder_run_mode, holder_run_newest.runner_group AS holder_run_runner_group,
    holder_run_newest.labels AS holder_run_labels, holder_run_newest.first_pending_at AS holder_run_first_pending_at,
    holder_run_newest.assigned_expires_at AS holder_run_assigned_expires_at, holder_run_newest.lease_claimed_at AS
    holder_run_lease_claimed_at, holder_run_newest.started_at AS holder_run_started_at,
    holder_run_newest.cancellation_reason AS holder_run_cancellation_reason, holder_run_newest.has_changes AS
    holder_run_has_changes, holder_run_newest.prioritized_at AS holder_run_prioritized_at,
    holder_run_newest.created_at AS holder_run_created_at, holder_run_group.labels AS holder_run_group_labels
FROM locktender.stack JOIN (SELECT locktender.stack.id AS id
  FROM locktender.stack
  WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.deleted_at IS NULL AND
      locktender.stack.latest_deployment_status = $2::VARCHAR AND ($3::VARCHAR IS NULL OR locktender.stack.project =
      $3::VARCHAR) AND ($4::VARCHAR IS NULL OR locktender.stack.name LIKE $4::VARCHAR) AND
      locktender.stack.latest_deployment_created_at IS NULL ORDER BY locktender.stack.latest_deployment_created_at
      DESC, locktender.stack.id DESC
  LIMIT $5::BIGINT) AS page ON page.id = locktender.stack.id LEFT OUTER JOIN locktender.stack_deployment AS holder ON
      holder.id = locktender.stack.lane_holder LEFT OUTER JOIN LATERAL (SELECT locktender.stack_run.workspace AS
      workspace, locktender.stack_run.id AS id, locktender.stack_run.status AS status, locktender.stack_run.mode AS
      mode, locktender.stack_run.runner_group AS runner_group, locktender.stack_run.labels AS labels,
      locktender.stack_run.first_pending_at AS first_pending_at, locktender.stack_run.assigned_expires_at AS
      assigned_expires_at, locktender.stack_run.lease_claimed_at AS lease_claimed_at, locktender.stack_run.started_at
      AS started_at, locktender.stack_run.cancellation_reason AS cancellation_reason, locktender.stack_run.has_changes
      AS has_changes, locktender.stack_run.prioritized_at AS prioritized_at, locktender.stack_run.created_at AS
      created_at
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = holder.id ORDER BY locktender.stack_run.created_at DESC,
      locktender.stack_run.id DESC
  LIMIT $6::INTEGER) AS holder_run_newest ON true LEFT OUTER JOIN locktender.stack_runner_group AS holder_run_group ON
      holder_run_group.workspace = holder_run_newest.workspace AND holder_run_group.name =
      holder_run_newest.runner_group
WHERE locktender.stack.latest_deployment_created_at IS NULL ORDER BY locktender.stack.latest_deployment_created_at
    DESC, locktender.stack.id DESC;
