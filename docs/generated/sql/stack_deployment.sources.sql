-- stack_deployment.sources
-- $1 stack_id, $2 sha256, $3 age
SELECT asked.stack_id, asked.sha256
FROM unnest($1::UUID[], $2::TEXT[]) AS asked(stack_id, sha256)
WHERE (EXISTS (SELECT locktender.stack.id
  FROM locktender.stack
  WHERE locktender.stack.id = asked.stack_id AND (locktender.stack.deleted_at IS NULL OR locktender.stack.deleted_at >
      locktender.now() - ($3::FLOAT * make_interval(secs=>1.0))) AND (locktender.stack.source ->> 'sha256') =
      asked.sha256)) OR (EXISTS (SELECT locktender.stack_deployment.id
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.stack_id = asked.stack_id AND locktender.stack_deployment.commit_sha =
      asked.sha256 AND ((locktender.stack_deployment.status NOT IN ('finished', 'failed', 'cancelled', 'skipped')) OR
      locktender.stack_deployment.completed_at > locktender.now() - ($3::FLOAT * make_interval(secs=>1.0)))));
