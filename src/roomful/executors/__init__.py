"""What carries a tool call out: one module per kind of tool, all behind the Executor port."""
