"""The OpenAPI documents of the cluster, made from the schemas that it works with. They describe no more than that."""
