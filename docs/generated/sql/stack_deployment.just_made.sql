-- stack_deployment.just_made
-- $1 stack_id, $2 commit_sha, $3 within, $4 id, $5 param_2
SELECT locktender.stack_deployment.number
FROM locktender.stack_deployment
WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.commit_sha = $2::VARCHAR AND
    locktender.stack_deployment.created_at > locktender.now() - ($3::FLOAT * make_interval(secs=>1.0)) AND
    locktender.stack_deployment.id != $4::UUID
LIMIT $5::INTEGER;
