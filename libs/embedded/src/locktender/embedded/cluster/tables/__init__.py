"""Objects as tables, for `kubectl get`."""
