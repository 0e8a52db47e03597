"""Operations that begin: a store made, a server started."""
