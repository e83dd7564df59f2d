"""What the server knows about the shape of objects: the standard types, and the schemas of custom kinds."""
