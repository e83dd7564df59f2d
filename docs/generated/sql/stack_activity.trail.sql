-- stack_activity.trail
-- $1 id, $2 param_1
SELECT locktender.stack_activity.id, locktender.stack_activity.kind, locktender.stack_activity.actor,
    locktender.stack_activity.details, locktender.stack_activity.created_at, locktender.stack_stage.ordinal
FROM locktender.stack_activity LEFT OUTER JOIN locktender.stack_stage ON locktender.stack_stage.id =
    locktender.stack_activity.stage_id
WHERE locktender.stack_activity.deployment_id = $1::UUID ORDER BY locktender.stack_activity.created_at DESC,
    locktender.stack_activity.id DESC
LIMIT $2::INTEGER;
