"""What Python runs when a worker starts: see `sitecustomize`. Nothing here is imported by name."""
