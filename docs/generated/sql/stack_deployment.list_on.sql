-- stack_deployment.list_on
-- $1 param_1, $2 param_2, $3 stack_id, $4 statuses, $5 modes, $6 after_at, $7 after_id, $8 limit
SELECT locktender.stack_deployment.id, locktender.stack_deployment.workspace, locktender.stack_deployment.stack_id,
    locktender.stack_deployment.number, locktender.stack_deployment.mode, locktender.stack_deployment.status,
    locktender.stack_deployment.origin, locktender.stack_deployment.commit_sha, locktender.stack_deployment.commit,
    locktender.stack_deployment.created_by, locktender.stack_deployment.note,
    locktender.stack_deployment.prioritized_at, locktender.stack_deployment.prioritized_by,
    locktender.stack_deployment.skipped_reason, locktender.stack_deployment.failure,
    locktender.stack_deployment.cancel_requested_at, locktender.stack_deployment.cancel_requested_by,
    locktender.stack_deployment.waiting_since, locktender.stack_deployment.revision,
    locktender.stack_deployment.started_at, locktender.stack_deployment.completed_at,
    locktender.stack_deployment.created_at, locktender.stack_deployment.updated_at, locktender.stack.name AS
    stack_name, locktender.stack.queued_timeout_seconds, locktender.stack.confirmation_timeout_seconds, run_newest.id
    AS run_id, run_newest.status AS run_status, run_newest.mode AS run_mode, run_newest.runner_group AS
    run_runner_group, run_newest.labels AS run_labels, run_newest.first_pending_at AS run_first_pending_at,
    run_newest.assigned_expires_at AS run_assigned_expires_at, run_newest.lease_claimed_at AS run_lease_claimed_at,
    run_newest.started_at AS run_started_at, run_newest.cancellation_reason AS run_cancellation_reason,
    run_newest.has_changes AS run_has_changes, run_newest.prioritized_at AS run_prioritized_at, run_newest.created_at
    AS run_created_at, run_group.labels AS run_group_labels, holder.id AS holder_id, holder.number AS holder_number,
    holder.mode AS holder_mode, holder.status AS holder_status, holder.created_at AS holder_created_at,
    holder.waiting_since AS holder_waiting_since, holder.cancel_requested_at AS holder_cancel_requested_at,
    holder_run_newest.id AS holder_run_id, holder_run_newest.status AS holder_run_status, holder_run_newest.mode AS
    holder_run_mode, holder_run_newest.runner_group AS holder_run_runner_group, holder_run_newest.labels AS
    holder_run_labels, holder_run_newest.first_pending_at AS holder_run_first_pending_at,
    holder_run_newest.assigned_expires_at AS holder_run_assigned_expires_at, holder_run_newest.lease_claimed_at AS
    holder_run_lease_claimed_at, holder_run_newest.started_at AS holder_run_started_at,
    holder_run_newest.cancellation_reason AS holder_run_cancellation_reason, holder_run_newest.has_changes AS
    holder_run_has_changes, holder_run_newest.prioritized_at AS holder_run_prioritized_at,
    holder_run_newest.created_at AS holder_run_created_at, holder_run_group.labels AS holder_run_group_labels
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
    LEFT OUTER JOIN LATERAL (SELECT locktender.stack_run.workspace AS workspace, locktender.stack_run.id AS id,
    locktender.stack_run.status AS status, locktender.stack_run.mode AS mode, locktender.stack_run.runner_group AS
    runner_group, locktender.stack_run.labels AS labels, locktender.stack_run.first_pending_at AS first_pending_at,
    locktender.stack_run.assigned_expires_at AS assigned_expires_at, locktender.stack_run.lease_claimed_at AS
    lease_claimed_at, locktender.stack_run.started_at AS started_at, locktender.stack_run.cancellation_reason AS
    cancellation_reason, locktender.stack_run.has_changes AS has_changes, locktender.stack_run.prioritized_at AS
    prioritized_at, locktender.stack_run.created_at AS created_at
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = locktender.stack_deployment.id ORDER BY locktender.stack_run.created_at
      DESC, locktender.stack_run.id DESC
  LIMIT $1::INTEGER) AS run_newest ON true LEFT OUTER JOIN locktender.stack_runner_group AS run_group ON
      run_group.workspace = run_newest.workspace AND run_group.name = run_newest.runner_group LEFT OUTER JOIN
      locktender.stack_deployment AS holder ON holder.id = locktender.stack.lane_holder LEFT OUTER JOIN LATERAL
      (SELECT locktender.stack_run.workspace AS workspace, locktender.stack_run.id AS id, locktender.stack_run.status
      AS status, locktender.stack_run.mode AS mode, locktender.stack_run.runner_group AS runner_group,
      locktender.stack_run.labels AS labels, locktender.stack_run.first_pending_at AS first_pending_at,
      locktender.stack_run.assigned_expires_at AS assigned_expires_at, locktender.stack_run.lease_claimed_at AS
      lease_claimed_at, locktender.stack_run.started_at AS started_at, locktender.stack_run.cancellation_reason AS
      cancellation_reason, locktender.stack_run.has_changes AS has_changes, locktender.stack_run.prioritized_at AS
      prioritized_at, locktender.stack_run.created_at AS created_at
  FROM locktender.stack_run
  WHERE locktender.stack_run.deployment_id = holder.id ORDER BY locktender.stack_run.created_at DESC,
      locktender.stack_run.id DESC
  LIMIT $2::INTEGER) AS holder_run_newest ON true LEFT OUTER JOIN locktender.stack_runner_group AS holder_run_group ON
      holder_run_group.workspace = holder_run_newest.workspace AND holder_run_group.name =
      holder_run_newest.runner_group
WHERE locktender.stack_deployment.stack_id = $3::UUID AND locktender.stack_deployment.status = any($4::TEXT[]) AND
    locktender.stack_deployment.mode = any($5::TEXT[]) AND (locktender.stack_deployment.created_at,
    locktender.stack_deployment.id) < ($6::TIMESTAMP WITH TIME ZONE, $7::UUID) ORDER BY
    locktender.stack_deployment.created_at DESC, locktender.stack_deployment.id DESC
LIMIT $8::BIGINT;
