-- stack_stage.ordinal
-- $1 coalesce_1, $2 deployment_id
SELECT coalesce(max(locktender.stack_stage.ordinal), $1::INTEGER) AS last
FROM locktender.stack_stage
WHERE locktender.stack_stage.deployment_id = $2::UUID;
