-- The token that a runner group had before, which can be kept for a while beside the new one.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

ALTER TABLE locktender.stack_runner_group
	ADD COLUMN old_token_hash BYTEA,
	ADD COLUMN old_token_until TIMESTAMP WITH TIME ZONE;

-- No row has the value yet, so this is one scan, and the timeouts above bound how long writes wait for it.
-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX uq_stack_runner_group_old_token ON locktender.stack_runner_group (old_token_hash)
	WHERE old_token_hash IS NOT NULL;
