"""Operations that look after a store: policy, quarantine, index, trust, workspaces."""
