"""The pool of providers: made when first needed, shared by equal settings, closed when unused."""
