-- outbox.backlog
SELECT count(*) AS rows, coalesce(EXTRACT(epoch FROM locktender.now() - min(locktender.outbox.created_at)), 0) AS
    oldest
FROM locktender.outbox
WHERE locktender.outbox.published_at IS NULL;
