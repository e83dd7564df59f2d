"""Where the configuration of a stack comes from: an exact commit of a Git repository, or an archive by its SHA-256."""
