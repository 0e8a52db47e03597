"""`python -m memctl.cli`."""

from memctl.cli import main

raise SystemExit(main())
