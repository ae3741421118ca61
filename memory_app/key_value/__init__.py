"""Key-value memory of a project: entries, the namespaces that hold them, and many operations in one request."""
