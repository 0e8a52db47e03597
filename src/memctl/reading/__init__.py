"""From a read request to what a model or a person may be given: filters, embedder, judging, redaction."""
