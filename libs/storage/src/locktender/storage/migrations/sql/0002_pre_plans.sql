-- What a run was going to do to the cluster, one plan a task.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

CREATE TABLE locktender.deployment_plan (
	task_id UUID NOT NULL,
	epoch BIGINT NOT NULL,
	plan JSONB NOT NULL,
	recorded_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_deployment_plan PRIMARY KEY (task_id),
	CONSTRAINT fk_deployment_plan_task_id FOREIGN KEY(task_id) REFERENCES locktender.deployment_task (id) ON DELETE CASCADE
);
