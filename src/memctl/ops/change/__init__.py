"""Operations that change what is stored already: correct it, put it away, say whether it is right, take it back."""
