"""What happens to items over time: export and import (consolidation and history later)."""
