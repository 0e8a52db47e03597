"""Operations by which memory and AI clients come together."""
