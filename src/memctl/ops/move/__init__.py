"""Operations that carry items out of a store and into another."""
