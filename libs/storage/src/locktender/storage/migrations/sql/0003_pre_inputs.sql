-- Inputs that a task waits for, what a run has named, and where a canvas shows the task.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

ALTER TABLE locktender.deployment_task
	ADD COLUMN identity JSONB,
	ADD COLUMN asked JSONB,
	ADD COLUMN resume_requested_at TIMESTAMP WITH TIME ZONE,
	ADD COLUMN resume_requested_by TEXT,
	ADD COLUMN canvas JSONB;

ALTER TABLE locktender.deployment_task
	ADD CONSTRAINT ck_deployment_task_blocked_asks
	CHECK ((status = 'blocked') <= (asked is not null)) NOT VALID,
	ADD CONSTRAINT ck_deployment_task_resume_only_blocked
	CHECK ((resume_requested_at is not null) <= (status = 'blocked')) NOT VALID;

-- No row has the value yet, so this is one scan, and the timeouts above bound how long writes wait for it.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX ix_deployment_task_resuming ON locktender.deployment_task (resume_requested_at)
	WHERE resume_requested_at IS NOT NULL;

-- No row has the value yet, so this is one scan, and the timeouts above bound how long writes wait for it.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX ix_deployment_task_successors ON locktender.deployment_task (workspace, predecessor_id, created_at DESC)
	WHERE predecessor_id IS NOT NULL;
