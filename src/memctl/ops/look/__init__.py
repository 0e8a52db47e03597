"""Operations that look at what the store holds."""
