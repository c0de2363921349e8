"""Stand-ins for the retrieval of RAGFlow and Dify; what is known of them is in page.md."""
