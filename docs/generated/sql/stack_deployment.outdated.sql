-- stack_deployment.outdated
-- $1 stack_id, $2 newer, $3 age, $4 limit
SELECT locktender.stack_deployment.id, locktender.stack_deployment.workspace, locktender.stack_deployment.stack_id,
    locktender.stack_deployment.number, locktender.stack_deployment.mode, locktender.stack_deployment.status,
    locktender.stack_deployment.origin, locktender.stack_deployment.source, locktender.stack_deployment.commit_sha,
    locktender.stack_deployment.commit, locktender.stack_deployment.raw_script,
    locktender.stack_deployment.created_by, locktender.stack_deployment.note,
    locktender.stack_deployment.prioritized_at, locktender.stack_deployment.prioritized_by,
    locktender.stack_deployment.skipped_reason, locktender.stack_deployment.failure,
    locktender.stack_deployment.cancel_requested_at, locktender.stack_deployment.cancel_requested_by,
    locktender.stack_deployment.waiting_since, locktender.stack_deployment.revision,
    locktender.stack_deployment.idempotency_key, locktender.stack_deployment.request_digest,
    locktender.stack_deployment.started_at, locktender.stack_deployment.completed_at,
    locktender.stack_deployment.created_at, locktender.stack_deployment.updated_at
FROM locktender.stack_deployment
WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.status = 'queued' AND
    locktender.stack_deployment.mode != 'plan_unlocked' AND locktender.stack_deployment.id != $2::UUID AND
    locktender.stack_deployment.created_at <= locktender.now() - ($3::FLOAT * make_interval(secs=>1.0)) ORDER BY
    locktender.stack_deployment.created_at, locktender.stack_deployment.id
LIMIT $4::BIGINT FOR UPDATE;
