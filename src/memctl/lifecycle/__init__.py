"""What happens to items over time: export and import, correction, consolidation, conflicts, the states an item had."""
