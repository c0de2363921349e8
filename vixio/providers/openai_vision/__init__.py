"""Photos explained by a model behind OpenAI's Chat Completions API, or a compatible one."""
