"""Operations that store: documents, folders, statements, what a model wrote."""
