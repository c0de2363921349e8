"""What users give the assistant to read: documents, found by words and by meaning."""
