-- deployment_task.marks
-- $1 workspace, $2 project, $3 param_2
SELECT asked.workspace, asked.project, mark.count, mark.revisions, mark.oldest, mark.newest, locktender.now() AS
    read_at
FROM unnest($1::TEXT[], $2::TEXT[]) AS asked(workspace, project) JOIN LATERAL (SELECT count(*) AS count,
    CAST(coalesce(sum(listed.revision), 0) AS BIGINT) AS revisions, min(listed.created_at) AS oldest,
    max(listed.created_at) AS newest
  FROM LATERAL (SELECT locktender.deployment_task.revision AS revision, locktender.deployment_task.created_at AS
      created_at
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.workspace = asked.workspace AND locktender.deployment_task.project = asked.project
      ORDER BY locktender.deployment_task.created_at DESC, locktender.deployment_task.id DESC
  LIMIT $3::INTEGER) AS listed) AS mark ON true;
