"""What a cluster refuses although the object is valid: quotas, limits, pod security, webhooks."""
