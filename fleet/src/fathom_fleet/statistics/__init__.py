"""Statistics on arrays: no engine, no tables, no files."""
