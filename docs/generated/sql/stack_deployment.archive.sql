-- stack_deployment.archive
-- $1 id
SELECT locktender.stack_deployment.stack_id AS id, locktender.stack_deployment.workspace,
    CAST(locktender.stack_deployment.source ->> 'sha256' AS TEXT) AS sha256
FROM locktender.stack_deployment
WHERE locktender.stack_deployment.id = $1::UUID AND (locktender.stack_deployment.source ->> 'kind') = 'archive';
